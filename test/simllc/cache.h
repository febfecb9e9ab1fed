/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A model of a set-associative cache with lines of 64 bytes and LRU replacement. It models neither
 * time nor data, and treats all accesses alike. Threads may access one cache at the same time.
 */
#ifndef SIMLLC_CACHE_H
#define SIMLLC_CACHE_H

#include <stdbool.h>
#include <stdint.h>

enum { CACHE_LINE = 64, CACHE_PAGE = 4096 };

struct cache_shape {
	uint64_t size; /* bytes: a multiple of CACHE_LINE * ways << sample */
	unsigned ways;
	unsigned sample; /* simulate only one set in 2^sample */
	bool prefetch; /* a miss also brings the next line if it is in the same page */
};

/* The result of an access, as bits. */
enum cache_result {
	CACHE_SAMPLED = 1, /* the line is in a simulated set; without this bit, the result is 0 */
	CACHE_MISS = 2, /* the line came from memory */
	CACHE_PREFETCHED = 4 /* the next line came from memory, too */
};

struct cache;

/*
 * Return the number of simulated sets of a cache with this shape, or 0 if the shape is impossible.
 */
uint64_t cache_sets(const struct cache_shape *);

/*
 * Return a new empty cache, for cache_free(), or NULL if the shape is impossible or memory is
 * short.
 */
struct cache *cache_new(const struct cache_shape *);
void cache_free(struct cache *);

/* Access the line with this number (address / CACHE_LINE). Returns cache_result bits. */
unsigned cache_access(struct cache *, uint64_t line);

/*
 * The first-level cache of one CPU: 32 KiB, 2 ways, LRU. Only accesses that miss it go to the
 * simulated cache. If all bytes are 0, it is empty. Only one thread at a time may use it. Lines may
 * have virtual addresses; it must then be cleared when mappings change.
 */
enum { L1_SETS = 256 };

struct l1 {
	uint64_t line[L1_SETS][2]; /* line number + 1 or 0, the last used first */
};

/* Access the line, and return whether it was in the cache. It is there afterwards. */
bool l1_access(struct l1 *, uint64_t line);
void l1_clear(struct l1 *);

#endif
