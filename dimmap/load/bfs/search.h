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
	uint32_t *level; /* level of each vertex, 0 for the root; the caller frees the array */
	uint64_t reached, arcs; /* numbers of reached vertices and of followed arcs */
	uint64_t checksum; /* of all levels */
	uint32_t depth; /* the deepest level */
	struct load_time time;
};

/*
 * Search breadth first from the root. The threads finish a level before they begin the next one.
 * Needs twelve bytes of memory for each vertex; the graph stays in its file.
 */
int search_run(struct search *s, struct search_result *out, struct errbuf *err);

/*
 * Calculate the levels again without the file: generate the edges into memory (eight bytes each),
 * and go through all of them once for each level. Returns 0 if the levels are equal, 1 with ERR if
 * a level differs, or -1 with ERR if out of memory.
 */
int search_check(const struct search *s, const struct search_result *r, struct errbuf *err);

#endif
