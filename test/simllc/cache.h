/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A model of a set-associative cache with LRU replacement, of lines of 64 bytes. It knows
 * neither time nor data nor what accesses it. Threads may access one cache at the same time.
 */
#ifndef SIMLLC_CACHE_H
#define SIMLLC_CACHE_H

#include <stdbool.h>
#include <stdint.h>

enum { CACHE_LINE = 64, CACHE_PAGE = 4096 };

struct cache_shape {
	uint64_t size; /* bytes: a multiple of CACHE_LINE * ways << sample */
	unsigned ways;
	unsigned sample; /* simulate the sets of one line in 2^sample only */
	bool prefetch; /* a miss brings the next line, too, where it is in the same page */
};

/* What an access did, as bits. */
enum cache_result {
	CACHE_SAMPLED = 1, /* the line is one of those simulated; without it no other bit is set */
	CACHE_MISS = 2, /* the line came from memory */
	CACHE_PREFETCHED = 4 /* the next line did, too */
};

struct cache;

/* How many sets a cache of that shape has that are simulated; 0: there is no such cache. */
uint64_t cache_sets(const struct cache_shape *);

/* An empty cache, for cache_free(); NULL: no such shape, or no memory. */
struct cache *cache_new(const struct cache_shape *);
void cache_free(struct cache *);

/* Access the line with this number (address / CACHE_LINE). Returns cache_result bits. */
unsigned cache_access(struct cache *, uint64_t line);

/*
 * The filter before it, a first-level cache of one CPU: 32 KiB, 2 ways, LRU. All zeros: empty. One
 * thread at a time. It may hold lines by virtual address, and has to be cleared when mappings
 * change.
 */
enum { L1_SETS = 256 };

struct l1 {
	uint64_t line[L1_SETS][2]; /* number + 1, the last used first */
};

/* Access the line; was it there? It is afterwards. */
bool l1_access(struct l1 *, uint64_t line);
void l1_clear(struct l1 *);

#endif
