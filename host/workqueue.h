/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_WORKQUEUE_H
#define NODEOS_HOST_WORKQUEUE_H

#include <stdbool.h>

#include "base/errbuf.h"
#include "base/idset.h"

/*
 * Isolated partitions and the kernel's unbound workqueues. From Linux 6.7 on the kernel takes the
 * CPUs of an isolated partition from these workqueues while it holds cpuset_mutex, and may create
 * worker threads for that. kthreadd then forks and waits for cgroup_threadgroup_rwsem, while a
 * process that moves to another cgroup holds cgroup_threadgroup_rwsem and waits for cpuset_mutex
 * (seen on 6.12.117: no process on the node can fork or end any more). The kernel leaves the
 * workqueues alone if their own mask has none of these CPUs. So NodeOS removes the CPUs from that
 * mask first, and puts them back when the partition ends.
 *
 * DIR is the ledger's directory, open and locked; its file "workqueues" keeps the earlier mask.
 */
#define WORKQUEUE_FILE "workqueues"

/* The kernel's directory of workqueues; another directory in tests. */
extern const char *workqueue_sysfs;

/*
 * Remove CPUS from the workqueues before they become a partition. Call this for root partitions,
 * too, so that the kernel's unbound work leaves their CPUs.
 */
int workqueue_leave(int dir, const struct idset *cpus, struct errbuf *err);

/* Return whether removed CPUs must still be put back. */
bool workqueue_pending(int dir);

/* Put CPUs back after partitions ended. LIVE stays out: the CPUs of the remaining partitions. */
void workqueue_return(int dir, const struct idset *live);

#endif
