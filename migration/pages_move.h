/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_PAGES_MOVE_H
#define NODEOS_MIGRATION_PAGES_MOVE_H

#include "migration/pages.h"
#include "migration/process_memory.h"

/*
 * The calls of move_pages(2) that pages_move() makes; the bytes of one call bound the memory that
 * a pages_mover needs.
 */
struct pages_mover {
	const struct pages_plan *plan;
	struct pages_progress *progress;
	struct pages_result *out; /* its fields moved, calls, shared and busy are updated */
	long started, end; /* monotonic milliseconds */
	bool late, full, unsupported; /* if one of these is set, no further call begins */
	unsigned to; /* current target node: that of the plan, or the next node of its home */
	struct idset filled; /* nodes of the home that have no memory left */
	uint64_t call, page, huge_page; /* bytes */
	/* the pages found in process P; the first KNOWN of them lie elsewhere */
	const struct process_memory *p;
	struct node_memory *seen; /* NULL: move pages; otherwise only count them here */
	int pages_fd;
	unsigned n, known, max;
	uint64_t bytes; /* of all N pages */
	void **address;
	bool *huge;
	int *nodes, *status, *where;
};

/* All arguments are borrowed. Returns 0, or -1: out of memory. */
int pages_mover_init(struct pages_mover *m, const struct pages_plan *plan,
		     struct pages_progress *progress, struct pages_result *out);
void pages_mover_free(struct pages_mover *m);

/* Move the pages of P that lie elsewhere, in one pass. */
void pages_mover_move(struct pages_mover *m, const struct process_memory *p);

/* Add the pages of P in the plan's ONLY, by node, to SUM. Moves none. */
void pages_mover_count(struct pages_mover *m, const struct process_memory *p,
		       struct node_memory *sum);

/* Has a call shown that further calls are useless, or is the time over? */
bool pages_mover_stops(const struct pages_mover *m);

#endif
