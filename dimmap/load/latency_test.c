/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/latency.h"

#include <inttypes.h>

#include "base/test/tap.h"
#include "dimmap/load/random.h"

static void test_latency_exact(void)
{
	static struct latency l;

	is_int((long long)latency_percentile(&l, 0.5), 0,
	       "latency_percentile: 0 for an empty histogram");
	for (uint64_t ns = 1; ns <= 50; ns++)
		latency_note(&l, ns);
	is_int((long long)latency_percentile(&l, 0.5), 25,
	       "latency_percentile: small times are exact: 0.5 of 1 to 50 is 25");
	is_int((long long)latency_percentile(&l, 0.99), 50,
	       "latency_percentile: 0.99 of 1 to 50 is 50, since 49.5 is rounded up");
	is_int((long long)latency_percentile(&l, 0.98), 49,
	       "latency_percentile: 0.98 of 1 to 50 is 49");
	is_int((long long)latency_percentile(&l, 1), 50, "latency_percentile: 1 of 1 to 50 is 50");
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Compare the percentiles of times of all magnitudes with those of the sorted list. */
static void test_against_sorting(void)
{
	enum { N = 100001 };
	static const double shares[] = { 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 0.99999 };
	uint64_t *all = malloc(N * sizeof(*all));
	static struct latency a, b;
	struct random r;
	unsigned bad = 0;

	random_start(&r, 1, 0);
	for (unsigned i = 0; i < N; i++) {
		all[i] = random_next(&r) >> (24 + random_below(&r, 40));
		latency_note(i % 2 ? &a : &b, all[i]);
	}
	qsort(all, N, sizeof(*all), compare);
	latency_add(&a, &b);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		/* the place in the sorted list, counted from 1 and rounded up */
		double place = shares[i] * N;
		uint64_t want = all[(size_t)place + ((double)(size_t)place < place) - 1],
			 got = latency_percentile(&a, shares[i]);

		if (got < want || (double)got > (double)want * (1 + 1.0 / 64)) {
			diag("share %g: got %" PRIu64 ", sorted %" PRIu64, shares[i], got, want);
			bad++;
		}
	}
	is_int(bad, 0,
	       "latency_percentile: two merged histograms have the percentiles of the sorted "
	       "times, at most 1/64 above");
	is_int((long long)a.max, (long long)all[N - 1], "latency: the longest time is exact");
	is_int((long long)a.n, N, "latency: a merged histogram counts all times of both");
	free(all);
}

static void test_very_long(void)
{
	static struct latency l;

	latency_note(&l, UINT64_MAX);
	latency_note(&l, UINT64_C(1) << 41);
	ok(latency_percentile(&l, 0.5) == UINT64_MAX && l.max == UINT64_MAX,
	   "latency_percentile: a time of hours is in the last bucket, whose upper end is "
	   "UINT64_MAX");
}

int main(void)
{
	test_latency_exact();
	test_against_sorting();
	test_very_long();
	return tap_done();
}
