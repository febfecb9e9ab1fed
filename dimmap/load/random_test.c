/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/random.h"

#include <inttypes.h>
#include <math.h>

#include "base/test/tap.h"
#include "dimmap/load/scatter.h"
#include "dimmap/load/zipf.h"

/* Known numbers, from other programs' tests of these generators. */
static void test_known_numbers(void)
{
	static const uint64_t split[] = { 6457827717110365317u, 3203168211198807973u,
					  9817491932198370423u, 4593380528125082431u,
					  16408922859458223821u };
	static const uint64_t scrambled[] = { 11520,
					      0,
					      1509978240,
					      1215971899390074240u,
					      1216172134540287360u,
					      607988272756665600u };
	struct random r = { { 1, 2, 3, 4 } };
	uint64_t seed = 1234567;
	unsigned good = 0;

	for (unsigned i = 0; i < 5; i++)
		good += random_split(&seed) == split[i];
	is_int(good, 5, "splitmix64: seed 1234567 gives the known numbers");
	for (unsigned i = good = 0; i < 6; i++)
		good += random_next(&r) == scrambled[i];
	is_int(good, 6, "xoshiro256**: state 1, 2, 3, 4 gives the known numbers");
}

/*
 * Return Pearson's chi squared over cells. Cells with an expected count below 5 are joined into
 * one. The mean of chi squared is the number of cells minus 1; its variance is twice its mean.
 * BOUND is set to five standard deviations above the mean.
 */
static double chi_squared(const uint64_t *count, const double *share, unsigned cells, double draws,
			  double *bound)
{
	double sum = 0, rest_found = 0, rest_wanted = 0, used = 0;

	for (unsigned i = 0; i < cells; i++) {
		double wanted = share[i] * draws, off = (double)count[i] - wanted;

		if (wanted < 5) {
			rest_found += (double)count[i];
			rest_wanted += wanted;
			continue;
		}
		sum += off * off / wanted;
		used++;
	}
	if (rest_wanted > 0) {
		sum += (rest_found - rest_wanted) * (rest_found - rest_wanted) / rest_wanted;
		used++;
	}
	*bound = used - 1 + 5 * sqrt(2 * (used - 1));
	return sum;
}

static void test_even(void)
{
	static const unsigned sizes[] = { 1, 2, 3, 7, 100, 1000, 1023 };
	enum { DRAWS = 200000 };

	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		unsigned n = sizes[k];
		uint64_t *count = calloc(n + 1, sizeof(*count));
		double *share = calloc(n + 1, sizeof(*share)), bound, sum;
		struct random r;

		random_start(&r, 42, 3);
		for (unsigned i = 0; i < DRAWS; i++) {
			uint64_t x = random_below(&r, n);

			count[x < n ? x : n]++;
		}
		for (unsigned i = 0; i < n; i++)
			share[i] = 1.0 / n;
		sum = chi_squared(count, share, n, DRAWS, &bound);
		ok(count[n] == 0 && sum <= bound,
		   "random_below: %u values are equally likely: chi squared %.1f, at most %.1f", n,
		   sum, bound);
		free(count);
		free(share);
	}
}

static void test_threads_differ(void)
{
	struct random a, b, c;
	unsigned same = 0;

	random_start(&a, 7, 0);
	random_start(&b, 7, 1);
	random_start(&c, 7, 0);
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t x = random_next(&a);

		same += x == random_next(&b);
		if (x != random_next(&c))
			same = 1000000;
	}
	is_int(same, 0,
	       "random: each thread has numbers of its own, which are the same in each run");
}

/*
 * Draw with exponent A, and compare with the shares for exponent THEORY. These are calculated from
 * the sum of all terms.
 */
static double zipf_against(double a, double theory, unsigned n, double *bound)
{
	enum { DRAWS = 400000 };
	uint64_t *count = calloc(n + 1, sizeof(*count));
	double *share = calloc(n, sizeof(*share)), all = 0, sum;
	struct random r;
	struct zipf z;

	for (unsigned k = 1; k <= n; k++)
		all += pow(k, -theory);
	for (unsigned k = 1; k <= n; k++)
		share[k - 1] = pow(k, -theory) / all;
	random_start(&r, 5, 0);
	zipf_start(&z, a, n);
	for (unsigned i = 0; i < DRAWS; i++) {
		uint64_t k = zipf_next(&z, &r);

		count[k >= 1 && k <= n ? k - 1 : n]++;
	}
	sum = count[n] ? INFINITY : chi_squared(count, share, n, DRAWS, bound);
	/*
	 * the first ranks have large shares: a sum over all ranks would hide an error in one of
	 * them
	 */
	for (unsigned i = 0; i < 10 && i < n; i++)
		if (fabs((double)count[i] - DRAWS * share[i]) >
		    5 * sqrt(DRAWS * share[i] * (1 - share[i])) + 1e-6)
			sum = INFINITY;
	free(count);
	free(share);
	return sum;
}

static void zipf_small(double a, unsigned n)
{
	double bound, sum = zipf_against(a, a, n, &bound);

	ok(sum <= bound, "zipf: a = %g, %u ranks: chi squared %.1f, at most %.1f", a, n, sum,
	   bound);
}

static void test_zipf_control(void)
{
	double bound, sum = zipf_against(0.99, 0.97, 1000, &bound);

	ok(sum > bound,
	   "zipf: the test finds wrong shares, those of exponent 0.97: chi squared %.1f, above "
	   "%.1f",
	   sum, bound);
}

/*
 * Draw from n = 2^40 ranks with a = 1. The sum of 1/k over all ranks is computed as ln n +
 * 0.5772..., which for this n is more precise than the test needs.
 */
static void test_zipf_large(void)
{
	enum { DRAWS = 400000 };
	double all = 40 * log(2) + 0.57721566490153286, first_100 = 0, expected, deviation;
	unsigned found_1 = 0, found_100 = 0, beyond = 0;
	struct random r;
	struct zipf z;

	for (unsigned k = 1; k <= 100; k++)
		first_100 += 1.0 / k;
	random_start(&r, 9, 0);
	zipf_start(&z, 1, UINT64_C(1) << 40);
	for (unsigned i = 0; i < DRAWS; i++) {
		uint64_t k = zipf_next(&z, &r);

		found_1 += k == 1;
		found_100 += k <= 100;
		beyond += k == 0 || k > UINT64_C(1) << 40;
	}
	expected = DRAWS / all;
	deviation = sqrt(expected * (1 - 1 / all));
	ok(fabs(found_1 - expected) <= 5 * deviation,
	   "zipf: a = 1, 2^40 ranks: rank 1 is drawn %u times, expected %.0f within %.0f", found_1,
	   expected, 5 * deviation);
	expected = DRAWS * first_100 / all;
	deviation = sqrt(expected * (1 - first_100 / all));
	ok(fabs(found_100 - expected) <= 5 * deviation,
	   "zipf: a = 1, 2^40 ranks: the first 100 are drawn %u times, expected %.0f within %.0f",
	   found_100, expected, 5 * deviation);
	is_int(beyond, 0, "zipf: no rank beyond the last is drawn");
}

static void test_permutations(void)
{
	static const unsigned sizes[] = { 1, 2, 3, 4, 7, 64, 1000, 4097, 65536 };

	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		unsigned n = sizes[k], bad = 0, moved = 0, other = 0;
		unsigned char *seen = calloc(n, 1);
		struct scatter s, t;

		scatter_start(&s, n, 1);
		scatter_start(&t, n, 2);
		for (unsigned i = 0; i < n; i++) {
			uint64_t x = scatter(&s, i);

			bad += x >= n || seen[x]++;
			moved += x != i;
			other += x != scatter(&t, i);
		}
		ok(!bad && (n < 64 || (moved > n / 2 && other > n / 2)),
		   "scatter: permutes %u numbers: %u change places, and %u differ with another key",
		   n, moved, other);
		free(seen);
	}
}

/*
 * Test that hot blocks are scattered. 65536 blocks are 4096 groups of 16. If the 64 hottest blocks
 * are distributed at random, about 0.5 pairs share a group; 8 pairs are far beyond chance.
 */
static void test_hot_ones_apart(void)
{
	unsigned char seen[4096] = { 0 };
	unsigned shared = 0;
	struct scatter s;

	scatter_start(&s, 65536, 11);
	for (unsigned i = 0; i < 64; i++)
		shared += seen[scatter(&s, i) / 16]++ > 0;
	ok(shared < 8, "scatter: hot blocks are not neighbours: %u pairs share a group", shared);
}

int main(void)
{
	test_known_numbers();
	test_even();
	test_threads_differ();
	zipf_small(0.5, 1000);
	zipf_small(0.99, 1000);
	test_zipf_control();
	zipf_small(1, 1000);
	zipf_small(1.5, 1000);
	zipf_small(2.5, 1000);
	zipf_small(10, 3);
	zipf_small(1, 1);
	test_zipf_large();
	test_permutations();
	test_hot_ones_apart();
	return tap_done();
}
