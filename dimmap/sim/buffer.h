/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_SIM_BUFFER_H
#define NODEOS_DIMMAP_SIM_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "dimmap/policy/policy.h"

/*
 * A dimmap buffer without memory and files. It behaves like dimmapfs with one task at a time and
 * clean pages. Its counts equal those of .stats, for example misses are "major". Dirty pages are
 * counted at eviction, but writes take no time, and there is no write-back.
 */
struct buffer_options {
	const struct dimmap_policy *policy;
	uint32_t pages;
	uint32_t pools; /* 1 to PAGES */
	uint32_t batch; /* pages unmapped at once, at most a fourth of a pool */
	/* pages read at once, a power of two up to BUFFER_WINDOW, at most a fourth of a pool */
	uint32_t fill;
};

#define BUFFER_WINDOW 512 /* an aligned window of BUFFER_WINDOW pages of a file is in one pool */
#define BUFFER_PAGES_MAX (1u << 28)

struct buffer_counts {
	uint64_t misses; /* accesses that had to wait for the file */
	uint64_t recovers; /* accesses to victims */
	uint64_t read; /* pages */
	uint64_t batches, unmapped; /* batches of unmapping, and their pages */
	uint64_t evicted, evicted_dirty; /* pages */
};

enum buffer_result { BUFFER_HIT, BUFFER_RECOVER, BUFFER_MISS };

struct buffer;

/* Returns NULL if out of memory. The caller frees the buffer. */
struct buffer *buffer_new(const struct buffer_options *o);
void buffer_free(struct buffer *b); /* NULL is allowed */

/* Let a program use the page KEY, which is file << 48 | index. Its file has FILE_PAGES pages. */
enum buffer_result buffer_access(struct buffer *b, uint64_t key, uint64_t file_pages, bool write);

const struct buffer_counts *buffer_counts(const struct buffer *b);
uint64_t buffer_present(const struct buffer *b); /* number of pages that an access would find */
const struct dimmap_pool *buffer_pool(const struct buffer *b, uint32_t i);

#endif
