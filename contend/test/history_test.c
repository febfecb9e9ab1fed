/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contend/history.h"

#include "base/test/tap.h"
#include "contend/test/example.h"

/* Add a sample of a rank in domain 0. */
static void add_sample(struct history *h, double time, uint32_t rate, enum rank_class class)
{
	history_add(h, &(struct history_sample){ time, rate, class, 0 });
}

static void test_few(void)
{
	struct history h = { 0 };

	for (unsigned i = 0; i < 240; i++)
		add_sample(&h, 1000.25 + i, i * 1000, RANK_TURTLE);
	is_int(h.n, 240, "history_add: 240 samples make 240 points");
	ok(history_time(&h, 0) == 1000.25 && history_time(&h, 239) == 1239.25,
	   "history_time: points have the times of their samples");
	is_int(h.point[239].rate, 239000,
	       "history_add: the last point has the rate of the last sample");
	history_free(&h);
	is_int(h.n, 0, "history_free: leaves an empty history");
}

static void test_thinned(void)
{
	struct history h = { 0 };
	double widest = 0, last;

	/* a day with one sample each second; the rank is a devil in the seconds 50,000 to 50,003 */
	for (unsigned i = 0; i < 86400; i++)
		add_sample(&h, i, 5000, i / 4 == 12500 ? RANK_DEVIL : RANK_TURTLE);
	ok(h.n <= HISTORY_POINTS && h.n >= HISTORY_POINTS / 2,
	   "history_add: a day has 120 to 240 points");
	ok(history_time(&h, 0) == 0, "history_add: the first sample stays");
	last = 0;
	for (unsigned i = 1; i < h.n; i++) {
		widest = history_time(&h, i) - last > widest ? history_time(&h, i) - last : widest;
		last = history_time(&h, i);
	}
	/*
	 * 86,400 s / 120 points = 720 s; the stride is a power of two, and a change of class may
	 * double a gap
	 */
	ok(widest <= 2048 && last >= 86400 - 1024,
	   "history_add: points cover the whole day with gaps of at most %.0f s", widest);
	unsigned devils = 0, at = 0;

	for (unsigned i = 0; i < h.n; i++)
		if (h.point[i].class == RANK_DEVIL) {
			devils++;
			at = i;
		}
	ok(devils == 1 && history_time(&h, at) == 50000,
	   "history_add: the point at which the class changes stays");
	history_free(&h);
}

static void test_backwards(void)
{
	struct history h = { 0 };

	add_sample(&h, 1000, 1, RANK_TURTLE);
	add_sample(&h, 1010, UINT32_MAX, RANK_DEVIL);
	add_sample(&h, 900, 1, RANK_TURTLE);
	ok(history_time(&h, 2) == 1010,
	   "history_add: points stay in order when the clock is set back");
	is_int(h.point[1].rate, CLASSIFY_RATE_MAX,
	       "history_add: a rate is limited to CLASSIFY_RATE_MAX");
	history_free(&h);
}

/* The point at which the domain changes stays, as does the point at which the class changes. */
static void test_moved(void)
{
	struct history h = { 0 };
	unsigned at = 0;

	for (unsigned i = 0; i < 86400; i++)
		history_add(&h, &(struct history_sample){ i, 5000, RANK_DEVIL, i >= 40000 });
	ok(h.n <= HISTORY_POINTS, "history_add: a day with a move has at most 240 points");
	while (at < h.n && h.point[at].domain == 0)
		at++;
	ok(at < h.n && history_time(&h, at) == 40000 && h.point[h.n - 1].domain == 1,
	   "history_add: the point at which the domain changes stays");
	history_free(&h);
	history_add(&h, &(struct history_sample){ 1, 1, RANK_TURTLE, 100000 });
	is_int(h.point[0].domain, -1, "history_add: a domain that does not fit a point becomes -1");
	history_free(&h);
}

static void test_ranks(void)
{
	struct histories all = { 0 };
	struct observed_node n;
	const struct history *h;

	example_node(&n);
	histories_add(&all, &n);
	n.time += 1;
	histories_add(&all, &n);
	h = histories_find(&all, &n.step[0], &n.step[0].rank[2]);
	ok(h && h->n == 2 && h->point[1].rate == 100 && h->point[1].class == RANK_TURTLE,
	   "histories_add: each call adds a point to each rank's history");
	n.step[0].rank[2].start++;
	ok(!histories_find(&all, &n.step[0], &n.step[0].rank[2]),
	   "histories_find: another process with the same pid has no history");
	observed_remove_step(&n, 0);
	histories_add(&all, &n);
	is_int(all.n, 1, "histories_add: drops the history of a rank that has ended");
	histories_free(&all);
	observed_free(&n);
}

int main(void)
{
	test_few();
	test_thinned();
	test_backwards();
	test_moved();
	test_ranks();
	return tap_done();
}
