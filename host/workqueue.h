/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_WORKQUEUE_H
#define NODEOS_HOST_WORKQUEUE_H

#include <stdbool.h>

#include "base/errbuf.h"
#include "base/idset.h"

/*
 * Isolated partitions and the kernel's unbound workqueues. From Linux 6.7 on the kernel takes the
 * CPUs of an isolated partition from these while it holds cpuset_mutex, and may make worker threads
 * for that: kthreadd then forks, which waits for cgroup_threadgroup_rwsem, which a process that
 * moves to another cgroup holds while it waits for cpuset_mutex (seen on 6.12.117: nothing on the
 * node forks or ends again). It does nothing of the kind when the workqueues' own mask has none of
 * these CPUs: so they are taken out of it before, and put back after.
 *
 * DIR is the ledger's directory, open and locked; the mask that was there before is kept in it
 * ("workqueues").
 */
#define WORKQUEUE_FILE "workqueues"

/* Where the kernel shows its workqueues; another directory in tests. */
extern const char *workqueue_sysfs;

/* Before CPUS become an isolated partition. */
int workqueue_leave(int dir, const struct idset *cpus, struct errbuf *err);

/* Have CPUs left that are to come back? */
bool workqueue_pending(int dir);

/* When partitions have ended: only the CPUs of ISOLATED, all that are left, stay out. */
void workqueue_return(int dir, const struct idset *isolated);

#endif
