/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HUGEPAGES_PAGES_PLAN_H
#define NODEOS_HUGEPAGES_PAGES_PLAN_H

#include <stdint.h>

#include "base/errbuf.h"

/* Which memory nodes give a step's huge pages. Pure. */

/* A memory node that may give pages. */
struct pages_node {
	unsigned node;
	uint64_t room; /* bytes that it may give */
};

struct pages_ask {
	unsigned ranks; /* at least 1 */
	uint64_t page; /* bytes of a page */
	uint64_t pages; /* of each rank, at least 1 */
};

/*
 * Pages of one rank on one node. The pieces of a rank follow each other in its memory, in the order
 * of the list.
 */
struct pages_piece {
	unsigned rank; /* from 0 */
	unsigned node; /* index in the list of nodes */
	uint64_t pages;
};

/*
 * Give each rank its pages of the N nodes: rank R begins with node R * N / RANKS, so that ranks in
 * order are spread over the nodes in order, and continues with the next ones where a node is full.
 * OUT has room for RANKS + N pieces, sorted by rank. Returns their number, or -1 if the nodes
 * together have too little room.
 */
int pages_plan(struct pages_piece *out, const struct pages_node *node, unsigned n,
	       const struct pages_ask *ask, struct errbuf *err);

/*
 * Return the bytes of each of RANKS extents whose size is not given: three quarters of a rank's
 * share of the room of the N nodes, or of MOST bytes if these are fewer. The result is rounded down
 * to 2 MiB, from 4 GiB on to 1 GiB; 0: less than 2 MiB.
 */
uint64_t pages_share(const struct pages_node *node, unsigned n, unsigned ranks, uint64_t most);

/* Return how many pages of PAGE bytes the N nodes have room for. */
uint64_t pages_room(const struct pages_node *node, unsigned n, uint64_t page);

#endif
