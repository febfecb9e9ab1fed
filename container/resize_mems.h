/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_RESIZE_MEMS_H
#define NODEOS_CONTAINER_RESIZE_MEMS_H

#include "container/blocks.h"
#include "container/resize_ranks.h"

/* Bytes that processes of ranks have mapped on some memory nodes, by /proc/PID/numa_maps. */
struct mapped {
	uint64_t anonymous; /* theirs alone */
	uint64_t files; /* of files, which others may share; of the process that has the most */
};

/* What G's ranks have on NODES. A process that ends meanwhile has nothing. */
void rank_group_mapped(struct mapped *out, const struct rank_group *g, int cgroup_fd, const struct idset *nodes);

/*
 * Let the kernel move what G's processes have on FROM to TO (migrate_pages(2), which takes as long as copying does). What
 * it cannot move stays: ask rank_group_mapped.
 */
void rank_group_migrate(const struct rank_group *g, int cgroup_fd, const struct idset *from, const struct idset *to);

/*
 * Let the cgroups of G's ranks and of their steps have NODES, and with LATER, nodes that are to be left, not those any more;
 * the kernel moves what is still on these. Where B is on, memory stays below what NODES hold. NULL LATER: NODES are more than before.
 */
int rank_group_confine(const struct rank_group *g, int cgroup_fd, const struct blocks *b, const struct idset *nodes, const struct idset *later,
		       struct errbuf *err);

#endif
