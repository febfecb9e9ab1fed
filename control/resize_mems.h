/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_RESIZE_MEMS_H
#define NODEOS_CONTROL_RESIZE_MEMS_H

#include "control/resize_ranks.h"
#include "host/blocks.h"

/*
 * Memory of ranks that run (nodeos.conf: resize_mems). Everything here can wait for an address
 * space that the ranks' user controls, so it is done in processes of their own with a limit of time
 * (host/apart.h), one address space after the other, and the caller holds no lock.
 */

/* Bytes that processes of ranks have mapped on some memory nodes, by /proc/PID/numa_maps. */
struct mapped {
	uint64_t anonymous; /* theirs alone */
	/* of files, which others may share; of the process that has the most */
	uint64_t files;
};

/*
 * What G's ranks, which are UID's, have on NODES. A process that ends meanwhile has nothing. -1:
 * one does not answer, or does not let its user look.
 */
int rank_group_mapped(struct mapped *out, const struct rank_group *g, int cgroup_fd, uid_t uid,
		      const struct idset *nodes, struct errbuf *err);

/*
 * Let the kernel move what G's processes have on FROM to TO (migrate_pages(2), which takes as long
 * as copying does). What it cannot move stays: ask rank_group_mapped. -1 as there.
 */
int rank_group_migrate(const struct rank_group *g, int cgroup_fd, uid_t uid,
		       const struct idset *from, const struct idset *to, struct errbuf *err);

/*
 * Does each process whose memory nodes rank_group_confine changes let its address space be locked,
 * as the kernel then does? They are UID's: all below the directories "user" of the steps of G's
 * ranks, not these ranks alone. -1: one does not within a limit of time, and its number is in ERR.
 */
int rank_group_lockable(const struct rank_group *g, int cgroup_fd, uid_t uid, struct errbuf *err);

/*
 * Let the cgroups of G's ranks and of their steps have NODES, and with LATER, nodes that are to be
 * left, not those any more; the kernel moves what is still on these. Where B is on, memory stays
 * below what NODES hold. NULL LATER: NODES are more than before. Call rank_group_lockable just
 * before: a process that keeps its address space locked hangs the host here (cgroup_write_mems).
 */
int rank_group_confine(const struct rank_group *g, const struct blocks *b,
		       const struct idset *nodes, const struct idset *later, struct errbuf *err);

#endif
