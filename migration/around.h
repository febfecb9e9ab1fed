/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_AROUND_H
#define NODEOS_MIGRATION_AROUND_H

#include <stdbool.h>

#include "counters/miss_ring.h"

/*
 * The parts of a rank's memory that follow it, around the cache lines that its processes were seen
 * to miss. Pure.
 */
#define AROUND_MISSES 4096 /* samples of a rank at a time */
#define AROUND_RANGES 512

struct around_range {
	pid_t pid;
	uint64_t start, end; /* addresses */
	unsigned misses; /* samples in it, at least 1 */
};

/* Ranges, sorted by process and address; those of a process neither overlap nor touch. */
struct around {
	unsigned n;
	struct around_range range[AROUND_RANGES];
};

/*
 * Choose BYTES around each of the N misses, half of these bytes below the page of the miss, in
 * whole pages of PAGE bytes. If this gives more than AROUND_RANGES ranges, those with the most
 * misses are chosen; of equal ranges, the first are chosen. Sorts MISS.
 */
void around_choose(struct around *out, struct miss *miss, unsigned n, uint64_t bytes,
		   uint64_t page);

/*
 * Find the first part from *AT to END, addresses of process PID, that A has: [*AT, *TO). Returns
 * false if there is none.
 */
bool around_next(const struct around *a, pid_t pid, uint64_t *at, uint64_t *to, uint64_t end);

#endif
