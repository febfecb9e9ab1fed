// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compare the model of the cache with a second model, which has a list of each set's lines with the
 * times of their last use, and with counts that were calculated by hand.
 */
#include "test/simllc/cache.h"

#include "base/test/tap.h"

#include <pthread.h>

enum { OLD_SETS = 64, OLD_WAYS = 16, PAGE_LINES = CACHE_PAGE / CACHE_LINE };

/* The second model: the lines in each set, and when each line was last used. */
struct oracle {
	struct cache_shape shape;
	unsigned sets, have[OLD_SETS];
	uint64_t line[OLD_SETS][OLD_WAYS], used[OLD_SETS][OLD_WAYS], now;
};

/* Return the index of the line in its set, or -1 if it is not there. */
static int place_of(const struct oracle *o, unsigned set, uint64_t line)
{
	for (unsigned i = 0; i < o->have[set]; i++)
		if (o->line[set][i] == line)
			return (int)i;
	return -1;
}

static void bring(struct oracle *o, unsigned set, uint64_t line)
{
	unsigned to = 0;

	if (o->have[set] < o->shape.ways) {
		to = o->have[set]++;
	} else {
		for (unsigned i = 1; i < o->shape.ways; i++)
			if (o->used[set][i] < o->used[set][to])
				to = i;
	}
	o->line[set][to] = line;
	o->used[set][to] = ++o->now;
}

static unsigned set_of(const struct oracle *o, uint64_t line)
{
	return (unsigned)(line / (1u << o->shape.sample) % o->sets);
}

static unsigned oracle_access(struct oracle *o, uint64_t line)
{
	unsigned set = set_of(o, line), result = CACHE_SAMPLED;
	int at = place_of(o, set, line);

	if (line % (1u << o->shape.sample))
		return 0;
	if (at >= 0) {
		o->used[set][at] = ++o->now;
		return result;
	}
	bring(o, set, line);
	result |= CACHE_MISS;
	if (o->shape.prefetch && (line + 1) % PAGE_LINES &&
	    place_of(o, set_of(o, line + 1), line + 1) < 0) {
		bring(o, set_of(o, line + 1), line + 1);
		result |= CACHE_PREFETCHED;
	}
	return result;
}

static uint32_t state = 1;

static uint32_t draw(uint32_t below)
{
	state = state * 1664525 + 1013904223;
	return (state >> 8) % below;
}

/* Return a random line: near the last one, in a small part of all lines, or anywhere. */
static uint64_t next_line(uint64_t last, uint32_t lines)
{
	switch (draw(4)) {
	case 0:
		return draw(lines);
	case 1:
		return draw(lines / 8 + 1);
	default:
		return (last + draw(3)) % lines;
	}
}

static void test_one_shape(struct cache_shape shape, unsigned sets)
{
	static struct oracle o;
	struct cache *c;
	uint64_t line = 0;
	int wrong = 0, n;

	shape.size = (uint64_t)CACHE_LINE * shape.ways * sets << shape.sample;
	c = cache_new(&shape);
	o = (struct oracle){ .shape = shape, .sets = sets };
	for (n = 0; c && n < 20000 && !wrong; n++) {
		line = next_line(line, 3 * shape.ways * sets << shape.sample);
		wrong = cache_access(c, line) != oracle_access(&o, line);
	}
	ok(c && !wrong,
	   "%u sets of %u ways, 1 of %u lines%s: %d random accesses have the same results in both "
	   "models",
	   sets, shape.ways, 1u << shape.sample, shape.prefetch ? ", prefetch" : "", n);
	cache_free(c);
}

static void test_oracle(void)
{
	static const unsigned ways[] = { 1, 2, 3, 16 }, sets[] = { 1, 3, 8, 64 };

	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < 4; k++) {
			test_one_shape((struct cache_shape){ 0, ways[i], 0, false }, sets[k]);
			test_one_shape((struct cache_shape){ 0, ways[i], 0, true }, sets[k]);
			test_one_shape((struct cache_shape){ 0, ways[i], 2, false }, sets[k]);
		}
}

struct counts {
	uint64_t sampled, misses, prefetched;
};

/* Access N lines: FIRST, FIRST + STEP, ... */
static struct counts scan(struct cache *c, uint64_t first, uint64_t step, uint64_t n)
{
	struct counts found = { 0 };

	for (uint64_t i = 0; i < n; i++) {
		unsigned result = cache_access(c, first + i * step);

		found.sampled += (result & CACHE_SAMPLED) != 0;
		found.misses += (result & CACHE_MISS) != 0;
		found.prefetched += (result & CACHE_PREFETCHED) != 0;
	}
	return found;
}

/* 64 KiB in 16 ways: 64 sets, 1,024 lines. */
static const struct cache_shape small = { 1 << 16, 16, 0, false };

static void test_scans(void)
{
	struct cache *c = cache_new(&small);

	is_int((long long)cache_sets(&small), 64, "64 KiB in 16 ways are 64 sets");
	is_int((long long)scan(c, 0, 1, 1024).misses, 1024,
	       "the first scan of a cache's size misses each line");
	is_int((long long)scan(c, 0, 1, 1024).misses, 0,
	       "the second scan of a cache's size misses no line");
	is_int((long long)scan(c, 0, 1, 4096).misses, 4096 - 1024,
	       "a scan of four times the size hits only the lines of the previous scan");
	is_int((long long)scan(c, 0, 1, 4096).misses, 4096,
	       "later scans of four times the size miss each line");
	cache_free(c);
}

static void test_conflicts(void)
{
	struct cache *c = cache_new(&small);

	scan(c, 5, 64, 16);
	is_int((long long)scan(c, 5, 64, 16).misses, 0, "16 lines of one set stay in 16 ways");
	scan(c, 5, 64, 17);
	is_int((long long)scan(c, 5, 64, 17).misses, 17,
	       "17 lines of one set replace each other in 16 ways");
	is_int((long long)scan(c, 6, 64, 16).misses, 16, "the next lines are in another set");
	is_int((long long)scan(c, 6, 64, 16).misses, 0, "16 lines of the next set stay in 16 ways");
	cache_free(c);
}

/* In a set of two ways, accesses to a, b, a and c must replace b by c. */
static void test_lru(void)
{
	struct cache *c = cache_new(&(struct cache_shape){ 2 * CACHE_LINE, 2, 0, false });

	scan(c, 10, 1, 2);
	cache_access(c, 10);
	cache_access(c, 30);
	is_int(cache_access(c, 10), CACHE_SAMPLED, "two ways: the line used last stays");
	is_int(cache_access(c, 11), CACHE_SAMPLED | CACHE_MISS,
	       "two ways: the line used earlier is replaced");
	cache_free(c);
}

static void test_prefetch(void)
{
	struct cache_shape shape = small;
	struct cache *c;
	struct counts found;

	shape.prefetch = true;
	c = cache_new(&shape);
	found = scan(c, 0, 1, 4096);
	is_int((long long)found.misses, 2048, "prefetch=next: a scan misses every other line");
	is_int((long long)found.prefetched, 2048,
	       "prefetch=next: the prefetcher fetches the other lines of a scan");
	is_int(cache_access(c, 100 * PAGE_LINES - 1), CACHE_SAMPLED | CACHE_MISS,
	       "prefetch=next: the last line of a page does not bring the next page's first line");
	found = scan(c, 200 * PAGE_LINES, 2, 32);
	is_int((long long)(found.misses + found.prefetched), 64,
	       "prefetch=next, a scan of every other line: all lines of its range are fetched");
	cache_access(c, 301 * PAGE_LINES + 1);
	is_int(cache_access(c, 301 * PAGE_LINES), CACHE_SAMPLED | CACHE_MISS,
	       "prefetch=next: a next line that is already in the cache is not fetched");
	cache_free(c);
}

static void test_sample(void)
{
	struct cache_shape shape = { 1 << 16, 16, 3, false };
	struct cache *c = cache_new(&shape);
	struct counts found = scan(c, 0, 1, 4096);

	is_int((long long)cache_sets(&shape), 8, "1 of 8 lines: 8 of 64 sets are simulated");
	is_int((long long)found.sampled, 512, "1 of 8 lines: 512 of 4096 lines are simulated");
	is_int((long long)found.misses * 8, 4096,
	       "1 of 8 lines: the misses of a scan are 8 times the simulated ones");
	scan(c, 0, 1, 1024);
	is_int((long long)scan(c, 0, 1, 1024).misses, 0,
	       "1 of 8 lines: a cache of 1,024 lines holds a scan of 1,024 lines");
	cache_free(c);
}

static void test_shapes(void)
{
	static const struct cache_shape bad[] = {
		{ 0, 16, 0, false }, /* nothing */
		{ 1 << 16, 0, 0, false },   { (1 << 16) + 64, 16, 0, false }, /* not whole sets */
		{ 1 << 16, 16, 7, false }, /* one in 128 of only 64 sets */
		{ 1 << 16, 16, 70, false },
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(!cache_new(&bad[i]), "cache_new() refuses impossible shape %u", i);
	is_int((long long)cache_sets(&(struct cache_shape){ 33 << 20, 11, 0, false }), 49152,
	       "33 MiB in 11 ways have 49,152 sets, which is not a power of two");
}

struct worker {
	struct cache *cache;
	uint64_t first, misses;
};

static void *scan_often(void *arg)
{
	struct worker *w = arg;

	for (int i = 0; i < 100000; i++)
		w->misses += scan(w->cache, w->first, 2, 8).misses;
	return NULL;
}

/* Let two threads access one set, together as many lines as the set holds. */
static void test_threads(void)
{
	struct cache *c = cache_new(&(struct cache_shape){ 16 * CACHE_LINE, 16, 0, false });
	struct worker w[2] = { { c, 0, 0 }, { c, 1, 0 } };
	pthread_t other;

	if (pthread_create(&other, NULL, scan_often, &w[1]) != 0)
		bail("cannot create a thread");
	scan_often(&w[0]);
	pthread_join(other, NULL);
	is_int((long long)(w[0].misses + w[1].misses), 16,
	       "two threads that access one set at the same time lose no line");
	cache_free(c);
}

static void test_l1(void)
{
	static struct l1 l1;
	int hits = 0;

	for (uint64_t i = 0; i < 1024; i++)
		hits += l1_access(&l1, i / 2);
	is_int(hits, 512, "the first-level cache answers the second access to each line");
	hits = 0;
	for (uint64_t i = 0; i < 512; i++)
		hits += l1_access(&l1, i);
	is_int(hits, 512, "the first-level cache holds 32 KiB");
	l1_access(&l1, 0);
	l1_access(&l1, 1024);
	ok(l1_access(&l1, 0) && !l1_access(&l1, 256),
	   "the first-level cache replaces the least recently used line of a set");
	l1_clear(&l1);
	ok(!l1_access(&l1, 0), "l1_clear() empties the first-level cache");
}

int main(void)
{
	test_oracle();
	test_scans();
	test_conflicts();
	test_lru();
	test_prefetch();
	test_sample();
	test_shapes();
	test_threads();
	test_l1();
	return tap_done();
}
