/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_RESIZE_MEMS_H
#define NODEOS_CONTROL_RESIZE_MEMS_H

#include "control/resize_ranks.h"
#include "host/blocks.h"

/*
 * Memory of running ranks (nodeos.conf: resize_mems). All of this can wait for an address space
 * that the ranks' user controls. So it is done in child processes with a time limit (host/apart.h),
 * one address space after the other, and the caller holds no lock.
 */

/* Bytes that processes of ranks have mapped on certain memory nodes, from /proc/PID/numa_maps. */
struct mapped {
	uint64_t anonymous; /* private to these processes */
	/* bytes of files, possibly shared: only of the process that has mapped the most */
	uint64_t files;
};

/*
 * Sum up the memory of G's ranks, which belong to UID, on NODES. A process that ends meanwhile
 * counts as empty. Returns -1 if a process cannot be read in time, or its user may not read it.
 */
int rank_group_mapped(struct mapped *out, const struct rank_group *g, int cgroup_fd, uid_t uid,
		      const struct idset *nodes, struct errbuf *err);

/*
 * Move the memory of G's processes from nodes FROM to TO (migrate_pages(2), which takes as long as
 * copying). Memory that cannot be moved stays: see rank_group_mapped(). Returns -1 as that function
 * does.
 */
int rank_group_migrate(const struct rank_group *g, int cgroup_fd, uid_t uid,
		       const struct idset *from, const struct idset *to, struct errbuf *err);

/*
 * Can the address space of each process be locked, as the kernel does when rank_group_confine()
 * changes its memory nodes? The processes are all below the directories "user" of the steps of G's
 * ranks, not only these ranks, and belong to UID. Returns -1 if one cannot be locked within the
 * time limit; ERR has its number.
 */
int rank_group_lockable(const struct rank_group *g, int cgroup_fd, uid_t uid, struct errbuf *err);

/*
 * Set the memory nodes of G's ranks and their steps to NODES, and remove the nodes in LATER, which
 * the ranks give up; the kernel moves memory that is still there. If B is on, the size of NODES
 * limits memory. If LATER is NULL, only add NODES. Call rank_group_lockable() just before: a
 * process that keeps its address space locked hangs the host in this function (cgroup_write_mems).
 */
int rank_group_confine(const struct rank_group *g, const struct blocks *b,
		       const struct idset *nodes, const struct idset *later, struct errbuf *err);

#endif
