/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contend/history.h"

#include "base/test/tap.h"
#include "contend/test/example.h"

/* Samples of ranks that stay in domain 0. */
static void add_sample(struct history *h, double time, uint32_t rate, enum rank_class class)
{
	history_add(h, &(struct history_sample){ time, rate, class, 0 });
}

static void test_few(void)
{
	struct history h = { 0 };

	for (unsigned i = 0; i < 240; i++)
		add_sample(&h, 1000.25 + i, i * 1000, RANK_TURTLE);
	is_int(h.n, 240, "240 samples are 240 points");
	ok(history_time(&h, 0) == 1000.25 && history_time(&h, 239) == 1239.25,
	   "the times of the points are those of the samples");
	is_int(h.point[239].rate, 239000, "the rate of the last point is the last sample's");
	history_free(&h);
	is_int(h.n, 0, "a freed history is empty");
}

static void test_thinned(void)
{
	struct history h = { 0 };
	double widest = 0, last;

	/* one day, a sample a second; a devil in the seconds 50,000 to 50,003 */
	for (unsigned i = 0; i < 86400; i++)
		add_sample(&h, i, 5000, i / 4 == 12500 ? RANK_DEVIL : RANK_TURTLE);
	ok(h.n <= HISTORY_POINTS && h.n >= HISTORY_POINTS / 2, "a day has 120 to 240 points");
	ok(history_time(&h, 0) == 0, "the first sample stays");
	last = 0;
	for (unsigned i = 1; i < h.n; i++) {
		widest = history_time(&h, i) - last > widest ? history_time(&h, i) - last : widest;
		last = history_time(&h, i);
	}
	/* 86,400 / 120 = 720: the next power of two and the point beside a change */
	ok(widest <= 2048 && last >= 86400 - 1024,
	   "points are spread over the whole day: gaps of at most %.0f s", widest);
	unsigned devils = 0, at = 0;

	for (unsigned i = 0; i < h.n; i++)
		if (h.point[i].class == RANK_DEVIL) {
			devils++;
			at = i;
		}
	ok(devils == 1 && history_time(&h, at) == 50000, "four seconds of another class stay");
	history_free(&h);
}

static void test_backwards(void)
{
	struct history h = { 0 };

	add_sample(&h, 1000, 1, RANK_TURTLE);
	add_sample(&h, 1010, UINT32_MAX, RANK_DEVIL);
	add_sample(&h, 900, 1, RANK_TURTLE);
	ok(history_time(&h, 2) == 1010, "points stay in order when the clock is set back");
	is_int(h.point[1].rate, CLASSIFY_RATE_MAX, "a rate is cut to the largest rate of classes");
	history_free(&h);
}

/* The time of a move stays as exact as that of a change of class. */
static void test_moved(void)
{
	struct history h = { 0 };
	unsigned at = 0;

	for (unsigned i = 0; i < 86400; i++)
		history_add(&h, &(struct history_sample){ i, 5000, RANK_DEVIL, i >= 40000 });
	ok(h.n <= HISTORY_POINTS, "a day with a move has at most 240 points");
	while (at < h.n && h.point[at].domain == 0)
		at++;
	ok(at < h.n && history_time(&h, at) == 40000 && h.point[h.n - 1].domain == 1,
	   "the first point in the other domain is that of the move");
	history_free(&h);
	history_add(&h, &(struct history_sample){ 1, 1, RANK_TURTLE, 100000 });
	is_int(h.point[0].domain, -1, "a domain that is no number of a point is none");
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
	   "each look adds a point to a rank");
	n.step[0].rank[2].start++;
	ok(!histories_find(&all, &n.step[0], &n.step[0].rank[2]),
	   "another process with the same number has no history");
	observed_remove_step(&n, 0);
	histories_add(&all, &n);
	is_int(all.n, 1, "the history of a rank that has gone is forgotten");
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
