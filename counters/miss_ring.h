/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COUNTERS_MISS_RING_H
#define NODEOS_COUNTERS_MISS_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"

/*
 * Addresses of misses in the last-level cache, from the records of perf_event_open(2). Pure: the
 * caller maps the ring buffer, and opens the event with MISS_SAMPLE as its sample_type.
 */
#define MISS_SAMPLE (PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC)

struct miss {
	pid_t pid; /* process */
	uint64_t address; /* virtual address in the user's half */
};

struct miss_list {
	struct miss *miss; /* MAX elements, the caller's */
	unsigned n, max;
	/* samples that are not in the list: the ring or the list had no room (saturating) */
	uint64_t lost;
};

/*
 * Append to OUT the misses of the records from TAIL to HEAD of a ring of SIZE bytes, a power of
 * two. Samples without an address, of the kernel's half, or that a cache answered are left out.
 * Returns 0, or -1 with the reason if a record is invalid; this record and all later ones are left
 * out.
 */
int miss_ring_read(struct miss_list *out, const void *ring, size_t size, uint64_t tail,
		   uint64_t head, struct errbuf *err);

#endif
