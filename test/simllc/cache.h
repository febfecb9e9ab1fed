/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A model of a set-associative cache with LRU replacement, of lines of 64 bytes. It has no time and
 * no data, and does not distinguish what accesses it. Threads may access one cache at the same
 * time.
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
	bool prefetch; /* a miss also brings the next line if that is in the same page */
};

/* The result of an access, as bits. */
enum cache_result {
	CACHE_SAMPLED = 1, /* the line is simulated; without this bit no other is set */
	CACHE_MISS = 2, /* the line came from memory */
	CACHE_PREFETCHED = 4 /* the next line came from memory, too */
};

struct cache;

/* The number of simulated sets of a cache of that shape; 0: the shape is impossible. */
uint64_t cache_sets(const struct cache_shape *);

/* A new empty cache, for cache_free(); NULL: the shape is impossible, or no memory. */
struct cache *cache_new(const struct cache_shape *);
void cache_free(struct cache *);

/* Access the line with this number (address / CACHE_LINE). Returns cache_result bits. */
unsigned cache_access(struct cache *, uint64_t line);

/*
 * The first-level cache of one CPU, which filters the accesses to the simulated cache: 32 KiB, 2
 * ways, LRU. All zeros: empty. Only one thread at a time may use it. It may hold lines by virtual
 * address, and must then be cleared when mappings change.
 */
enum { L1_SETS = 256 };

struct l1 {
	uint64_t line[L1_SETS][2]; /* number + 1, the last used first */
};

/* Access the line, which is in the cache afterwards; return whether it was before. */
bool l1_access(struct l1 *, uint64_t line);
void l1_clear(struct l1 *);

#endif
