/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compare divisions with results worked out by hand, and divisions of small random rows with the
 * best of all possible divisions.
 */
#include "ranks/runs.h"

#include <string.h>

#include "base/test/rnd.h"
#include "base/test/tap.h"

#define UNITS 12
#define RANKS 6
#define DOMAINS 9

/* The value of a division, in the order of runs.h. */
struct value {
	unsigned straddling, smallest, idle, squares;
};

static bool is_straddling(const struct runs_in *in, const struct run *r)
{
	for (unsigned d = 0; d < in->n_domains; d++) {
		unsigned in_both = 0, domain = 0;

		for (unsigned u = in->domain[d].first; u < in->domain[d].end; u++) {
			domain++;
			in_both += u >= r->first && u < r->end;
		}
		if (in_both && in_both < domain && in_both < (unsigned)(r->end - r->first))
			return true;
	}
	return false;
}

static struct value value_of(const struct runs_in *in, const struct run *out)
{
	struct value v = { 0, in->n_units, in->n_units, 0 };

	for (unsigned r = 0; r < in->n_ranks; r++) {
		unsigned size = (unsigned)(out[r].end - out[r].first);

		v.straddling += is_straddling(in, &out[r]);
		v.smallest = size < v.smallest ? size : v.smallest;
		v.idle -= size;
		v.squares += size * size;
	}
	return v;
}

static bool is_division(const struct runs_in *in, const struct run *out)
{
	for (unsigned r = 0; r < in->n_ranks; r++)
		if (out[r].first >= out[r].end || out[r].end > in->n_units ||
		    (r && out[r].first < out[r - 1].end))
			return false;
	return true;
}

/*
 * Try every division of the units after the run of rank R - 1 among the ranks from R on; *AT_RUN is
 * the run of rank R. If WIDTH is not 0, every run has WIDTH units, and BEST gets the smallest
 * number of straddling runs. If it is 0, runs have any width, none may straddle, and BEST gets the
 * best value: the smallest run is as large as possible, then the fewest units are idle, then the
 * sum of squares is the least.
 */
static void search(const struct runs_in *in, unsigned width, struct run *at_run, unsigned r,
		   struct value *best)
{
	struct run *first = at_run - r;
	unsigned at = r ? at_run[-1].end : 0;
	struct value v;

	for (unsigned u = at; r < in->n_ranks && u < in->n_units; u++)
		for (unsigned end = u + 1; end <= in->n_units; end++) {
			*at_run = (struct run){ (uint16_t)u, (uint16_t)end };
			if (width ? end - u == width : !is_straddling(in, at_run))
				search(in, width, at_run + 1, r + 1, best);
		}
	if (r < in->n_ranks)
		return;
	v = value_of(in, first);
	if (width) {
		best->straddling = v.straddling < best->straddling ? v.straddling
								   : best->straddling;
		return;
	}
	if (v.smallest != best->smallest ? v.smallest > best->smallest
	    : v.idle != best->idle	 ? v.idle < best->idle
					 : v.squares < best->squares)
		*best = v;
}

/*
 * Divide FIRST .. END - 1 into random domains, and some of these again: a domain has no inner
 * domains, or they cover it. runs_uneven() takes the units outside of inner domains for a domain,
 * but the search does not.
 */
static unsigned invent(struct run *domain, unsigned first, unsigned end, unsigned depth)
{
	unsigned n = 0;

	while (first < end) {
		unsigned size = 1 + rnd(end - first);

		domain[n++] = (struct run){ (uint16_t)first, (uint16_t)(first + size) };
		if (depth && size > 1 && rnd(2))
			n += invent(domain + n, first, first + size, depth - 1);
		first += size;
	}
	return n;
}

static void test_random_rows(void)
{
	unsigned bad = 0, worse = 0, uneven = 0, cases = 0;

	for (unsigned run = 0; run < 3000; run++) {
		struct run domain[4 * UNITS], out[RANKS], tried[RANKS];
		struct runs_in in = { .n_units = 1 + rnd(9), .domain = domain };
		struct value want = { .straddling = RANKS + 1 }, best = { 0 }, got;
		unsigned width;

		in.n_ranks = 1 + rnd(in.n_units < 4 ? in.n_units : 4);
		width = 1 + rnd(in.n_units / in.n_ranks);
		in.n_domains = runs_sort(domain, invent(domain, 0, in.n_units, 2));
		bad += runs_equal(out, &in, width) < 0 || !is_division(&in, out);
		search(&in, width, tried, 0, &want);
		got = value_of(&in, out);
		worse += got.straddling != want.straddling || got.smallest != width;
		best.idle = best.squares = 10000;
		search(&in, 0, tried, 0, &best);
		bad += runs_uneven(out, &in) < 0 || !is_division(&in, out);
		got = value_of(&in, out);
		uneven += got.straddling != 0 || got.smallest != best.smallest ||
			  got.idle != best.idle || got.squares != best.squares;
		cases++;
	}
	is_int(cases, 3000, "3,000 random rows are tried");
	is_int(bad, 0, "every division of a random row gives each rank its own neighbours");
	is_int(worse, 0, "runs of one width straddle as few domains as the best of all divisions");
	is_int(uneven, 0, "runs of different widths are as good as the best of all divisions");
}

struct by_hand {
	const char *name;
	unsigned units, ranks, domain_size, group; /* equal domains, and groups of domains */
	int straddling; /* number of straddling runs, when all runs have the largest equal width */
	unsigned sizes[9]; /* sizes of the runs that runs_uneven() makes */
};

static const struct by_hand table[] = {
	{ "nine ranks on eight memory nodes of six cores",
	  48,
	  9,
	  6,
	  24,
	  4,
	  { 6, 6, 6, 6, 6, 6, 6, 3, 3 } },
	{ "three ranks on two packages of 18 cores", 36, 3, 18, 0, 1, { 18, 9, 9 } },
	{ "three ranks on eight caches of eight cores", 64, 3, 8, 0, 3, { 24, 24, 16 } },
	{ "five ranks on eight caches of eight cores", 64, 5, 8, 0, 5, { 16, 16, 16, 8, 8 } },
	{ "four ranks on four caches", 16, 4, 4, 0, 0, { 4, 4, 4, 4 } },
};

static void test_by_hand(void)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct by_hand *t = &table[i];
		struct run domain[32], out[9];
		struct runs_in in = { t->units, t->ranks, 0, domain };
		unsigned wrong = 0;

		for (unsigned u = 0; u < t->units; u += t->domain_size)
			domain[in.n_domains++] =
				(struct run){ (uint16_t)u, (uint16_t)(u + t->domain_size) };
		for (unsigned u = 0; t->group && u < t->units; u += t->group)
			domain[in.n_domains++] =
				(struct run){ (uint16_t)u, (uint16_t)(u + t->group) };
		in.n_domains = runs_sort(domain, in.n_domains);
		is_int(runs_equal(out, &in, t->units / t->ranks), t->straddling,
		       "%s: runs_equal() returns the number of runs that straddle", t->name);
		is_int(runs_uneven(out, &in), 0, "%s: runs_uneven() finds a division", t->name);
		for (unsigned r = 0; r < t->ranks; r++)
			wrong += (unsigned)(out[r].end - out[r].first) != t->sizes[r];
		is_int(wrong, 0, "%s: runs_uneven() makes runs of the sizes worked out by hand",
		       t->name);
	}
}

static void test_overlaps(void)
{
	struct run domain[] = { { 4, 8 }, { 0, 8 }, { 2, 6 }, { 0, 4 }, { 0, 8 } };

	is_int(runs_sort(domain, 5), 3, "domains that overlap others or are equal are removed");
	ok(domain[0].end == 8 && domain[1].end == 4 && domain[2].first == 4,
	   "domains are sorted by their first unit, the larger first");
}

int main(void)
{
	test_by_hand();
	test_overlaps();
	test_random_rows();
	return tap_done();
}
