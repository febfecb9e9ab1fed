/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_RESIZE_MEMS_H
#define NODEOS_CONTROL_RESIZE_MEMS_H

#include "control/resize_ranks.h"
#include "host/blocks.h"

/*
 * Memory of running ranks (nodeos.conf: resize_mems). All these functions may wait for an address
 * space that the ranks' user controls. So child processes with a time limit (host/apart.h) do the
 * work, one address space after the other, and the caller holds no lock.
 */

/* Bytes that processes of ranks have mapped on certain memory nodes, from /proc/PID/numa_maps. */
struct mapped {
	uint64_t anonymous; /* private to these processes */
	/*
	 * bytes of files, which processes may share, so this is the largest number of one process
	 */
	uint64_t files;
};

/*
 * Sum up the memory of G's ranks, which belong to UID, on NODES. A process that ends meanwhile
 * counts as empty. Returns 0, or -1 if a process cannot be read in time or its user may not read
 * it.
 */
int rank_group_mapped(struct mapped *out, const struct rank_group *g, int cgroup_fd, uid_t uid,
		      const struct idset *nodes, struct errbuf *err);

/*
 * Move the memory of G's processes from nodes FROM to TO, with migrate_pages(2), which takes as
 * long as copying. Memory that cannot be moved stays, and rank_group_mapped() shows it. Returns as
 * that function does.
 */
int rank_group_migrate(const struct rank_group *g, int cgroup_fd, uid_t uid,
		       const struct idset *from, const struct idset *to, struct errbuf *err);

/*
 * Check that the address space of each process whose memory nodes rank_group_confine() changes can
 * be locked: the kernel locks it for that change. These are all processes below the directories
 * "user" of the steps of G's ranks; they belong to UID. Returns 0, or -1 with the pid in ERR if an
 * address space cannot be locked within the time limit.
 */
int rank_group_lockable(const struct rank_group *g, int cgroup_fd, uid_t uid, struct errbuf *err);

/*
 * Set the memory nodes of G's ranks and their steps to NODES. Remove the nodes in LATER, which the
 * ranks give up; the kernel moves memory that is still there. If LATER is NULL, only add NODES. If
 * B is on, the size of NODES limits memory. Call rank_group_lockable() just before: a process that
 * keeps its address space locked would hang the host in this function (cgroup_write_mems).
 */
int rank_group_confine(const struct rank_group *g, const struct blocks *b,
		       const struct idset *nodes, const struct idset *later, struct errbuf *err);

#endif
