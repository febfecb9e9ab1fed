/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_PARTITION_H
#define NODEOS_HOST_PARTITION_H

#include <stddef.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "manifest/partition_name.h"

/*
 * The kernel's cpuset partitions (Documentation/admin-guide/cgroup-v2.rst,
 * "cpuset.cpus.partition"): a "root" partition is a scheduling domain of its own, and the CPUs of
 * an "isolated" one are in no domain. Slurm's directories above a step are members, so only a
 * remote partition is possible: each of these directories must list the CPUs in
 * cpuset.cpus.exclusive. Paths are relative to ROOT_FD, as in host/cgroup.h.
 */

/*
 * Make PATH a partition of kind P with exactly CPUS, which must be in its cpuset.cpus already, and
 * read back whether the partition is valid. On failure PATH is a member again.
 */
int partition_make(int root_fd, const char *path, enum partition p, const struct idset *cpus,
		   struct errbuf *err);

/*
 * Switch PATH to a partition of kind P or to a member. Its exclusive CPUs are those that
 * partition_make() set.
 */
int partition_switch(int root_fd, const char *path, enum partition p, struct errbuf *err);

/* Read the kernel's state of PATH: "member", "isolated", "isolated invalid (REASON)". */
int partition_state(int root_fd, const char *path, char *buf, size_t size, struct errbuf *err);

/* Set cpuset.cpus.exclusive of directory PATH to CPUS. It is no error if PATH was removed. */
int partition_set_exclusive(int root_fd, const char *path, const struct idset *cpus,
			    struct errbuf *err);

/* Remove CPUS from cpuset.cpus.exclusive of directory PATH. */
int partition_shrink_exclusive(int root_fd, const char *path, const struct idset *cpus,
			       struct errbuf *err);

#endif
