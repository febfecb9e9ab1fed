/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_PAGES_MOVE_H
#define NODEOS_MIGRATION_PAGES_MOVE_H

#include "migration/pages.h"
#include "migration/process_memory.h"

/* The calls of move_pages(2) of pages_move(); its memory is bounded by the bytes of one call. */
struct pages_mover {
	const struct pages_plan *plan;
	struct pages_progress *progress;
	struct pages_result *out; /* moved, calls, shared, busy */
	long started, end; /* monotonic milliseconds */
	bool late, full, unsupported; /* no call begins any more */
	unsigned to; /* node that pages go to now: of the plan, or the next one of its home */
	struct idset filled; /* nodes of the home that have no memory left */
	uint64_t call, page, huge_page; /* bytes */
	/* of one process: pages that were found; the first KNOWN of them lie elsewhere */
	const struct process_memory *p;
	int pages_fd;
	unsigned n, known, max;
	uint64_t bytes; /* of all N */
	void **address;
	bool *huge;
	int *nodes, *status, *where;
};

/* All arguments are borrowed. Returns 0, or -1: out of memory. */
int pages_mover_init(struct pages_mover *m, const struct pages_plan *plan,
		     struct pages_progress *progress, struct pages_result *out);
void pages_mover_free(struct pages_mover *m);

/* Move what lies elsewhere of P, once. */
void pages_mover_move(struct pages_mover *m, const struct process_memory *p);

/* Has a call, or the time, shown that no other one is of use? */
bool pages_mover_stops(const struct pages_mover *m);

#endif
