/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_SIM_BUFFER_H
#define NODEOS_DIMMAP_SIM_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "dimmap/policy/policy.h"

/*
 * A dimmap buffer without memory and files: what dimmapfs does when one task after the other uses
 * pages that are clean. The counts are those of its .stats then: misses are "major", and so on.
 * Pages that are written are counted when they go, but take no time, and are not written back
 * before.
 */
struct buffer_options {
	const struct dimmap_policy *policy;
	uint32_t pages;
	uint32_t pools; /* 1 to PAGES */
	uint32_t batch; /* pages that are unmapped at once; a fourth of a pool's at most */
	/* pages that are read at once, a power of two up to BUFFER_WINDOW; a fourth of a pool's at
	 * most */
	uint32_t fill;
};

#define BUFFER_WINDOW 512 /* pages next to each other in a file that are in the same pool */
#define BUFFER_PAGES_MAX (1u << 28)

struct buffer_counts {
	uint64_t misses; /* accesses that had to wait for the file */
	uint64_t recovers; /* accesses to pages that were to go */
	uint64_t read; /* pages */
	uint64_t batches, unmapped; /* times that pages were unmapped, and pages */
	uint64_t evicted, evicted_dirty; /* pages */
};

enum buffer_result { BUFFER_HIT, BUFFER_RECOVER, BUFFER_MISS };

struct buffer;

/* NULL: no memory. */
struct buffer *buffer_new(const struct buffer_options *o);
void buffer_free(struct buffer *b); /* NULL: nothing */

/* A program uses the page KEY, file << 48 | index, of a file of FILE_PAGES pages. */
enum buffer_result buffer_access(struct buffer *b, uint64_t key, uint64_t file_pages, bool write);

const struct buffer_counts *buffer_counts(const struct buffer *b);
uint64_t buffer_present(const struct buffer *b); /* pages that an access would find */
const struct dimmap_pool *buffer_pool(const struct buffer *b, uint32_t i);

#endif
