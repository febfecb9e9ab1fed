/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_BFS_SEARCH_H
#define NODEOS_DIMMAP_LOAD_BFS_SEARCH_H

#include "dimmap/load/bfs/graph.h"
#include "dimmap/load/frame.h"

#define UNREACHED UINT32_MAX

struct search {
	struct load load;
	const struct graph *graph;
	uint64_t root;
};

struct search_result {
	uint32_t *level; /* of each vertex, from the root's 0 on; free() it */
	uint64_t reached, arcs; /* vertices, and the arcs that were followed */
	uint64_t checksum; /* of all levels */
	uint32_t depth; /* the deepest level */
	struct load_time time;
};

/* Breadth first from the root, all threads one level after the other. In memory are twelve bytes
 * for each vertex; the graph is not. */
int search_run(struct search *s, struct search_result *out, struct errbuf *err);

/*
 * The levels again, by another way: from the edges as R-MAT makes them, kept in memory (eight bytes
 * each), which are gone through once for each level. 0: the same, 1: another one, with ERR; -1 with
 * ERR: no memory.
 */
int search_check(const struct search *s, const struct search_result *r, struct errbuf *err);

#endif
