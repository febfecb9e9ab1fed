/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <getopt.h>
#include <math.h>
#include <stdlib.h>

#include "base/test/tap.h"
#include "dimmap/load/random.h"
#include "dimmap/policy/oracle_test.h"
#include "dimmap/sim/bounds.h"
#include "dimmap/sim/options.h"

static const uint32_t sizes[] = { 1, 2, 3, 7, 64, 1000 };

#define N(array) (sizeof(array) / sizeof((array)[0]))

static void make(struct accesses *a, const char *pattern, uint64_t size, uint64_t n, uint64_t seed)
{
	struct accesses_wish w = { .size = size, .n = n, .writes = 20, .seed = seed };
	struct errbuf err = { 0 };

	memset(a, 0, sizeof(*a));
	if (sim_pattern_parse(&w.pattern, pattern, &err) < 0 || accesses_make(a, &w, &err) < 0)
		bail("%s", err.text);
}

static struct buffer *start(const char *policy, uint32_t pages, uint32_t batch)
{
	return buffer_new(&(struct buffer_options){ .policy = dimmap_policy_find(policy),
						    .pages = pages,
						    .pools = 1,
						    .batch = batch,
						    .fill = 1 });
}

static uint64_t key_of(const struct accesses *a, size_t i)
{
	return a->key[access_page(a, i)];
}

static uint64_t misses(const struct accesses *a, const char *policy, uint32_t pages, uint32_t batch)
{
	struct buffer *b = start(policy, pages, batch);
	uint64_t n;

	for (size_t i = 0; i < a->n; i++)
		buffer_access(b, key_of(a, i), a->file_pages[0], access_write(a, i));
	n = buffer_counts(b)->misses;
	buffer_free(b);
	return n;
}

/* ------------------------------------------------------------------ naive LRU and OPT */

/*
 * The naive bounds. Present pages are in an array, and the last or next use of a page is searched
 * in the whole trace.
 */
static size_t used_before(const struct accesses *a, size_t now, uint32_t page)
{
	while (now-- > 0)
		if (access_page(a, now) == page)
			return now;
	return SIZE_MAX;
}

static size_t used_after(const struct accesses *a, size_t now, uint32_t page)
{
	for (now++; now < a->n; now++)
		if (access_page(a, now) == page)
			return now;
	return SIZE_MAX;
}

static struct buffer_counts naive(const struct accesses *a, uint32_t pages, bool opt)
{
	uint32_t *there = calloc(pages, sizeof(*there)), n = 0;
	bool *dirty = calloc(a->pages, sizeof(*dirty));
	struct buffer_counts c = { 0 };

	for (size_t i = 0; i < a->n; i++) {
		uint32_t page = access_page(a, i), at = 0, choice = 0;

		while (at < n && there[at] != page)
			at++;
		if (at == n) {
			c.misses++;
			if (n < pages) {
				n++;
			} else {
				for (uint32_t k = 1; k < n; k++)
					if (opt ? used_after(a, i, there[k]) >
							    used_after(a, i, there[choice])
						: used_before(a, i, there[k]) <
							    used_before(a, i, there[choice]))
						choice = k;
				at = choice;
				c.evicted++;
				c.evicted_dirty += dirty[there[at]];
				dirty[there[at]] = false;
			}
			there[at] = page;
		}
		dirty[page] |= access_write(a, i);
	}
	free(there);
	free(dirty);
	return c;
}

static bool same_misses(const struct buffer_counts *a, const struct buffer_counts *b)
{
	return a->misses == b->misses && a->evicted == b->evicted;
}

static void test_sim_bounds(void)
{
	static const char *const patterns[] = { "uniform", "zipf:0.9", "scan", "loop:10",
						"drift:1.2" };
	unsigned bad_lru = 0, bad_opt = 0, n = 0;

	for (unsigned t = 0; t < 200; t++) {
		uint64_t pages = 1 + t * 7 % 60;
		uint32_t size = 1 + t % 13;
		struct buffer_counts lru, opt, slow;
		struct accesses a;
		uint32_t *next;

		make(&a, patterns[t % N(patterns)], pages, 300, t);
		next = bounds_next(&a);
		bounds_lru(&a, size, &lru);
		bounds_opt(&a, next, size, &opt);
		slow = naive(&a, size, false);
		bad_lru += !same_misses(&lru, &slow) || lru.evicted_dirty != slow.evicted_dirty;
		/*
		 * do not compare dirty pages: OPT may evict pages that are never needed again in
		 * any order
		 */
		slow = naive(&a, size, true);
		bad_opt += !same_misses(&opt, &slow);
		n++;
		free(next);
		accesses_free(&a);
	}
	is_int(bad_lru, 0, "bounds_lru: equals a search back at each eviction, %u times", n);
	is_int(bad_opt, 0, "bounds_opt: equals a search ahead at each eviction, %u times", n);
}

/* Compare an example like Belady's with numbers that were counted by hand. */
static void test_sim_by_hand(void)
{
	static const uint64_t order[] = { 1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5 };
	struct accesses a = { 0 };
	struct buffer_counts c;
	uint32_t *next;

	accesses_add_file(&a, 10, NULL);
	for (size_t i = 0; i < N(order); i++)
		accesses_add(&a, order[i], false, NULL);
	is_int(a.pages, 5, "accesses_add: counts five pages");
	is_int((long long)misses(&a, "fifo", 3, 1), 9,
	       "Belady's anomaly: fifo with 3 pages misses 9 times");
	is_int((long long)misses(&a, "fifo", 4, 1), 10,
	       "Belady's anomaly: fifo with 4 pages misses 10 times");
	bounds_lru(&a, 3, &c);
	is_int((long long)c.misses, 10, "bounds_lru: misses 10 times with 3 pages");
	bounds_lru(&a, 4, &c);
	is_int((long long)c.misses, 8, "bounds_lru: misses 8 times with 4 pages");
	next = bounds_next(&a);
	bounds_opt(&a, next, 3, &c);
	is_int((long long)c.misses, 7, "bounds_opt: misses 7 times with 3 pages");
	bounds_opt(&a, next, 4, &c);
	is_int((long long)c.misses, 6, "bounds_opt: misses 6 times with 4 pages");
	free(next);
	accesses_free(&a);
}

/* ------------------------------------------------------------------ known values */

/*
 * Test uniform random accesses. With any policy, the next access hits with the probability p, the
 * share of pages that are present. So the number of hits has the mean sum of p and the variance sum
 * of p (1 - p).
 */
static void uniform(const char *policy)
{
	for (unsigned i = 0; i < N(sizes); i++)
		for (uint32_t batch = 1; batch <= 64; batch += 63) {
			uint64_t all = 5 * sizes[i], n = 200000, hits = 0;
			struct buffer *b = start(policy, sizes[i], batch);
			double expected = 0, variance = 0;
			struct random random;

			random_start(&random, 1, sizes[i]);
			for (uint64_t k = 0; k < n; k++) {
				double p = (double)buffer_present(b) / (double)all;

				hits += buffer_access(b, random_below(&random, all), all, false) !=
					BUFFER_MISS;
				expected += p;
				variance += p * (1 - p);
			}
			ok(fabs((double)hits - expected) < 4.5 * sqrt(variance) &&
				   (batch > 1 || fabs(expected / (double)n - 0.2) < 0.005),
			   "%s, %u of %u pages, batches of %u: %.2f %% of uniform accesses hit, "
			   "expected %.2f %%",
			   policy, sizes[i], (unsigned)all, batch, 100 * (double)hits / (double)n,
			   100 * expected / (double)n);
			buffer_free(b);
		}
}

static void test_scan(void)
{
	struct buffer_counts c;
	struct accesses a;
	uint32_t *next;

	make(&a, "scan", 101, 5050, 1);
	is_int((long long)misses(&a, "fifo", 100, 1), 5050,
	       "fifo: a cyclic scan of one page more than the buffer always misses");
	is_int((long long)misses(&a, "fifo", 100, 64), 5050,
	       "fifo in batches: a cyclic scan of one page more than the buffer always misses");
	bounds_lru(&a, 100, &c);
	is_int((long long)c.misses, 5050,
	       "LRU: a cyclic scan of one page more than the buffer always misses");
	next = bounds_next(&a);
	bounds_opt(&a, next, 100, &c);
	/* 101 misses in the first round, then one miss in 100 accesses */
	is_int((long long)c.misses, 101 + (5050 - 101) / 100,
	       "OPT: a cyclic scan of one page more than the buffer misses once in 100 accesses");
	free(next);
	for (unsigned i = 0; dimmap_policies[i]; i++)
		is_int((long long)misses(&a, dimmap_policies[i]->name, 101, 1), 101,
		       "%s: a cyclic scan that fits into the buffer misses each page once",
		       dimmap_policies[i]->name);
	accesses_free(&a);
}

static void test_opt_is_best(void)
{
	static const char *const patterns[] = { "uniform", "zipf:0.8", "zipf:1.2", "scan",
						"loop:2",  "loop:20",  "drift:1" };
	unsigned bad = 0, n = 0, bad_lru = 0;

	for (unsigned t = 0; t < 40 * N(patterns); t++) {
		uint32_t size = sizes[t % N(sizes)];
		struct buffer_counts opt, lru;
		struct accesses a;
		uint32_t *next;

		make(&a, patterns[t % N(patterns)], 1 + size * (1 + t % 11) / 2,
		     size > 64 ? 8000 : 2000, t);
		next = bounds_next(&a);
		bounds_opt(&a, next, size, &opt);
		bounds_lru(&a, size, &lru);
		bad_lru += lru.misses < opt.misses;
		for (unsigned i = 0; dimmap_policies[i]; i++, n++) {
			uint64_t own = misses(&a, dimmap_policies[i]->name, size, 1 + t % 64);

			if (own < opt.misses && !bad++)
				diag("%s, trace %u, %u pages: %llu misses, OPT %llu",
				     dimmap_policies[i]->name, t, size, (unsigned long long)own,
				     (unsigned long long)opt.misses);
		}
		free(next);
		accesses_free(&a);
	}
	is_int(bad, 0, "no policy misses less often than OPT, in %u runs", n);
	is_int(bad_lru, 0, "LRU does not miss less often than OPT");
}

/* ------------------------------------------------------------------ pools, windows, counts */

/* Return the pool of a page: the upper half of the hash of its window of 2 MiB selects it. */
static unsigned pool_of(uint64_t key, unsigned pools)
{
	uint64_t file = key >> 48, index = key & 0xffffffffffffu,
		 upper = oracle_hash(file << 48 | index / 512) >> 32;

	return (unsigned)(upper * pools / 4294967296u);
}

static bool same_counts(const struct buffer *b, struct oracle **o, unsigned pools)
{
	struct oracle_counts sum = { 0 };
	const struct buffer_counts *c = buffer_counts(b);

	for (unsigned i = 0; i < pools; i++) {
		sum.batches += oracle_counts(o[i])->batches;
		sum.unmapped += oracle_counts(o[i])->unmapped;
		sum.evicted += oracle_counts(o[i])->evicted;
		sum.read += oracle_counts(o[i])->read;
	}
	return sum.batches == c->batches && sum.unmapped == c->unmapped &&
	       sum.evicted == c->evicted && sum.read == c->read;
}

static bool like_oracles(const struct dimmap_policy *policy, uint32_t pages, uint32_t pools,
			 uint32_t batch, uint32_t fill, uint64_t seed)
{
	struct buffer *b =
		buffer_new(&(struct buffer_options){ policy, pages, pools, batch, fill });
	uint32_t most = pages / pools / 4 ? pages / pools / 4 : 1, window = 1;
	uint64_t file[2] = { 1 + 700 * (seed % 3), 3000 }, missed = 0, recovered = 0;
	struct oracle *o[4];
	struct random random;
	bool good = true;

	while (2 * window <= fill && 2 * window <= most)
		window *= 2;
	for (unsigned i = 0; i < pools; i++) {
		uint32_t own = pages / pools + (i < pages % pools);

		o[i] = oracle_new(policy->name, own, own * policy->victims / 64, batch);
	}
	random_start(&random, seed, 0);
	for (unsigned i = 0; good && i < 3000; i++) {
		uint64_t which = random_below(&random, 2),
			 range = i % 500 < 100 ? file[which] : 1 + file[which] / 20;
		uint64_t key =
			(which << 48) + (file[which] - range) / 2 + random_below(&random, range);
		enum oracle_result want =
			oracle_access_window(o[pool_of(key, pools)], key, window, file[which]);

		good = (int)buffer_access(b, key, file[which], false) == (int)want;
		missed += want == ORACLE_MISS;
		recovered += want == ORACLE_RECOVER;
	}
	good = good && same_counts(b, o, pools) && buffer_counts(b)->misses == missed &&
	       buffer_counts(b)->recovers == recovered;
	for (unsigned i = 0; i < pools; i++)
		oracle_free(o[i]);
	buffer_free(b);
	return good;
}

static void pools_and_windows(const struct dimmap_policy *policy)
{
	unsigned bad = 0, n = 0;

	for (unsigned t = 0; t < 120; t++, n++) {
		uint32_t pages = sizes[t % N(sizes)] + t % 5, pools = 1 + t / 3 % 4;

		if (pools > pages)
			pools = pages;
		if (!like_oracles(policy, pages, pools, 1 + t * 5 % 64, 1u << t % 7, t) && !bad++)
			diag("%u pages, %u pools, fill %u, seed %u", pages, pools, 1u << t % 7, t);
	}
	is_int(bad, 0, "%s: pools and windows equal the oracle's, in %u runs", policy->name, n);
}

static void test_evictions(void)
{
	struct buffer *b = start("fifo", 8, 64);

	/* with 8 pages, batches have 2 pages */
	for (uint64_t key = 0; key < 8; key++)
		buffer_access(b, key, 100, key % 4 == 0);
	is_int((long long)buffer_counts(b)->batches, 0,
	       "buffer_access: no eviction while there is room");
	buffer_access(b, 8, 100, false);
	is_int((long long)buffer_counts(b)->batches, 1,
	       "buffer_access: a full buffer unmaps a batch");
	is_int((long long)buffer_counts(b)->evicted, 2,
	       "buffer_access: a batch is at most a fourth of the pages");
	is_int((long long)buffer_counts(b)->evicted_dirty, 1,
	       "buffer_access: counts the dirty page of a batch");
	is_int((long long)buffer_present(b), 7,
	       "buffer_present: returns 7 after the batch is unmapped");
	is_int(buffer_access(b, 0, 100, false), BUFFER_MISS,
	       "buffer_access: the oldest page was evicted");
	is_int(buffer_access(b, 2, 100, false), BUFFER_HIT,
	       "buffer_access: the third page is still present");
	for (uint64_t key = 20; key < 28; key++)
		buffer_access(b, key, 100, false);
	is_int((long long)buffer_counts(b)->evicted_dirty, 2,
	       "buffer_access: a page that was read again is clean, a written one is dirty");
	buffer_free(b);

	b = buffer_new(&(struct buffer_options){ dimmap_policy_find("fifo"), 64, 1, 1, 512 });
	buffer_access(b, 21, 100, false);
	is_int((long long)buffer_counts(b)->read, 16,
	       "buffer_access: a window is at most a fourth of the pages");
	is_int(buffer_access(b, 16, 100, false) + buffer_access(b, 31, 100, false), 2 * BUFFER_HIT,
	       "buffer_access: the window of page 21 is 16 to 31");
	is_int(buffer_access(b, 15, 100, false), BUFFER_MISS,
	       "buffer_access: the window of page 21 does not have page 15");
	buffer_access(b, 99, 100, false);
	is_int((long long)buffer_counts(b)->read, 16 + 16 + 4,
	       "buffer_access: a window ends with the file");
	buffer_free(b);
}

static void test_division(void)
{
	struct buffer *b =
		buffer_new(&(struct buffer_options){ dimmap_policy_find("sieve"), 11, 4, 8, 1 });

	ok(buffer_pool(b, 0)->pages == 3 && buffer_pool(b, 1)->pages == 3 &&
		   buffer_pool(b, 2)->pages == 3 && buffer_pool(b, 3)->pages == 2,
	   "buffer_new: divides 11 pages into pools of 3, 3, 3 and 2");
	buffer_free(b);
}

/* ------------------------------------------------------------------ patterns and options */

static void test_sim_patterns(void)
{
	static const char *const bad[] = { "",	       "zipf",	   "zipf:",    "zipf:0",
					   "zipf:11",  "zipf:nan", "zipf:1x",  "uniform:1",
					   "uniforms", "loop:0",   "loop:100", "scan:" };
	struct errbuf err = { 0 };
	struct accesses a, b;
	unsigned refused = 0, hot = 0;
	struct pattern p;

	for (unsigned i = 0; i < N(bad); i++)
		refused += sim_pattern_parse(&p, bad[i], &err) < 0;
	is_int(refused, N(bad), "sim_pattern_parse: refuses wrong patterns");
	is(err.text,
	   "--pattern=\"scan:\": expected uniform, scan, zipf:A or drift:A with A from 0.01 to 10, "
	   "or loop:H with H from 0.001 to 99",
	   "sim_pattern_parse: gives the reason of a refusal");
	make(&a, "zipf:1.2", 1000, 10000, 5);
	make(&b, "zipf:1.2", 1000, 10000, 5);
	ok(a.n == 10000 && a.n == b.n && memcmp(a.page, b.page, a.n * sizeof(a.page[0])) == 0,
	   "accesses_make: the same seed makes the same accesses");
	ok(a.writes > 1800 && a.writes < 2200, "accesses_make: 20 %% are writes: %llu",
	   (unsigned long long)a.writes);
	accesses_free(&b);
	make(&b, "zipf:1.2", 1000, 10000, 6);
	ok(memcmp(a.page, b.page, a.n * sizeof(a.page[0])) != 0,
	   "accesses_make: another seed makes other accesses");
	accesses_free(&a);
	accesses_free(&b);
	make(&a, "loop:10", 100, 1000, 1);
	for (size_t i = 0; i < a.n; i++)
		hot += a.key[access_page(&a, i)] < 10;
	ok(hot == 500 && a.pages == 100,
	   "accesses_make: half of a loop's accesses are to hot pages");
	accesses_free(&a);
}

static void given(const char *list, uint32_t pages, const char *want)
{
	char *argv[] = { (char *)"nodeos-dimsim",
			 (char *)"-t",
			 (char *)"scan",
			 (char *)"-n",
			 (char *)list,
			 NULL };
	char text[256] = "";
	uint32_t size[SIZES_MAX];
	struct errbuf err;
	struct options o;
	unsigned n;

	optind = 0;
	if (sim_options_parse(&o, 5, argv, &err) < 0) {
		is(err.text, want, "--pages: refuses \"%s\"", list);
		return;
	}
	n = options_sizes(&o, pages, size);
	for (unsigned i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u", i ? " " : "",
			 size[i]);
	is(text, want, "--pages=%s: gives the sizes for %u pages in use", list, pages);
}

static void test_option_lists(void)
{
	given("1%,2%,50%", 1000, "10 20 500");
	given("50%,7,0.1%,7", 1000, "1 7 500");
	given("0.01%,100%", 1000, "1 1000");
	given("268435456", 1, "268435456");
	given("268435457", 1,
	      "--pages=\"268435457\": expected numbers of pages from 1 to 268435456, or percents "
	      "up to 100%, such as 512,10%");
	given("1,,2", 1,
	      "--pages=\"\": expected numbers of pages from 1 to 268435456, or percents up to "
	      "100%, such as 512,10%");
	given("101%", 1,
	      "--pages=\"101%\": expected numbers of pages from 1 to 268435456, or percents up to "
	      "100%, such as 512,10%");
	given("%", 1,
	      "--pages=\"%\": expected numbers of pages from 1 to 268435456, or percents up to "
	      "100%, such as 512,10%");
}

/* ------------------------------------------------------------------ the picture */

static unsigned count(const char *text, const char *word)
{
	unsigned n = 0;

	for (; (text = strstr(text, word)) != NULL; text++)
		n++;
	return n;
}

static void test_sim_picture(void)
{
	static struct results r = { .what = "a <b> & c",
				    .accesses = 1000,
				    .pages = 100,
				    .batch = 64,
				    .fill = 1,
				    .pools = 1,
				    .size = { 1, 2, 3, 4, 50, 100 },
				    .sizes = 6,
				    .lines = 6 };
	static const char *const names[] = { "dimmap", "fifo", "sieve", "s3fifo", "lru", "opt" };
	char *text, *at;
	double before = 0;
	unsigned apart = 0;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (unsigned i = 0; i < 6; i++) {
		r.line[i].name = names[i];
		for (unsigned s = 0; s < 6; s++)
			r.line[i].counts[s].misses = 1000 - 10 * s;
	}
	results_svg(f, &r);
	fclose(f);
	ok(strstr(text, "a &lt;b> &amp; c") != NULL, "results_svg: escapes the name");
	ok(strncmp(text, "<svg ", 5) == 0 && strcmp(text + size - 7, "</svg>\n") == 0 &&
		   !strstr(text, "nan") && !strstr(text, "inf"),
	   "results_svg: writes one svg element with finite numbers");
	for (unsigned i = 0; i < 6; i++) {
		char word[32];

		snprintf(word, sizeof(word), ">%s</text>", names[i]);
		is_int(count(text, word), 1, "results_svg: the name of %s appears once", names[i]);
	}
	/* all lines end at one point, but their names must not overlap */
	for (at = text; (at = strstr(at, "<text x='868' y='")) != NULL; at++) {
		double y = strtod(at + strlen("<text x='868' y='"), NULL);

		apart += y >= before + 18;
		before = y;
	}
	is_int(apart, 6, "results_svg: names do not overlap");
	free(text);
	r.sizes = 1;
	f = open_memstream(&text, &size);
	results_svg(f, &r);
	fclose(f);
	ok(!strstr(text, "nan") && !strstr(text, "inf"),
	   "results_svg: one size gives finite numbers");
	free(text);
}

int main(void)
{
	test_sim_by_hand();
	test_sim_bounds();
	test_scan();
	for (unsigned i = 0; dimmap_policies[i]; i++)
		uniform(dimmap_policies[i]->name);
	test_opt_is_best();
	test_evictions();
	test_division();
	for (unsigned i = 0; dimmap_policies[i]; i++)
		pools_and_windows(dimmap_policies[i]);
	test_sim_patterns();
	test_option_lists();
	test_sim_picture();
	return tap_done();
}
