/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/noise/gaps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/test/tap.h"

static void test_gaps_numbers(void)
{
	/* the shortest loop is 100 ns; the lengths are easy to add */
	struct gap gap[] = { { 0, 999 },	{ 10, 1000 }, { 20, 9999 }, { 30, 10000 },
			     { 50, 200000000 }, { 60, 1000 }, { 70, 50 } };
	struct gaps g = { gap, 7, 400000000, 100 };
	struct summary s;

	is_int(gaps_summary(&s, &g), 0, "gaps_summary: accepts seven gaps");
	is_int((long long)s.count, 7, "gaps_summary: counts seven gaps");
	is_int((long long)s.n[0], 2, "gaps_summary: 999 ns and 50 ns are below 1 us");
	is_int((long long)s.n[1], 3, "gaps_summary: 1000 ns, twice, and 9999 ns are 1-10 us");
	is_int((long long)s.n[2], 1, "gaps_summary: 10 us is in the decade from 10 us");
	is_int((long long)(s.n[3] + s.n[4] + s.n[5]), 0,
	       "gaps_summary: the decades without gaps are empty");
	is_int((long long)s.n[6], 1, "gaps_summary: 200 ms is in the last decade");
	is_int((long long)s.lost[0], 899,
	       "gaps_summary: of 999 ns, 899 are lost, and of 50 ns none, if the shortest loop is "
	       "100 ns");
	is_int((long long)s.lost[1], 900 + 9899 + 900,
	       "gaps_summary: adds the time lost in the second decade");
	is_int((long long)s.lost_all, 899 + 900 + 9899 + 9900 + 199999900 + 900,
	       "gaps_summary: adds the time lost in all decades");
	is_int((long long)s.longest.at, 50, "gaps_summary: gives the start of the longest gap");
	is_int((long long)s.median, 1000, "gaps_summary: gives the median length");
}

static void test_variation(void)
{
	struct gap gap[] = { { 0, 2000 }, { 1, 4000 }, { 2, 4000 }, { 3, 4000 },
			     { 4, 5000 }, { 5, 5000 }, { 6, 7000 }, { 7, 9000 } };
	struct gaps g = { gap, 8, 100000, 2000 };
	struct summary s;

	gaps_summary(&s, &g);
	/* a textbook's example: 2 4 4 4 5 5 7 9 has mean 5 and standard deviation 2 */
	ok(fabs(s.variation - 0.4) < 1e-9,
	   "gaps_summary: deviation 2 and mean 5 give a variation of 0.4: %f", s.variation);
	g.n = 1;
	gaps_summary(&s, &g);
	ok(s.variation == 0 && s.median == 2000, "gaps_summary: one gap has no variation");
	g.n = 0;
	gaps_summary(&s, &g);
	ok(s.variation == 0 && s.count == 0 && s.lost_all == 0 && s.longest.length == 0,
	   "gaps_summary: without gaps, all results are 0");
}

static unsigned count(const char *text, const char *word)
{
	unsigned n = 0;

	for (; (text = strstr(text, word)) != NULL; text++)
		n++;
	return n;
}

static void test_gaps_picture(void)
{
	enum { MANY = 100000 };
	struct gap *gap = malloc(MANY * sizeof(*gap));
	struct gaps g = { gap, MANY, 1000000000, 20 };
	struct summary s;
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (unsigned i = 0; i < MANY; i++)
		gap[i] = (struct gap){ i * 10000u, 200 + i % 7 };
	gap[54321].length = 5000000; /* the only long gap */
	gaps_summary(&s, &g);
	gaps_svg(f, &g, &s, "CPU <3> & more");
	fclose(f);
	ok(strstr(text, "CPU &lt;3> &amp; more") != NULL, "gaps_svg: escapes the title");
	ok(count(text, "<circle") <= 20001 && count(text, "<circle") > 10000,
	   "gaps_svg: limits the number of marks: %u", count(text, "<circle"));
	ok(count(text, "r='3.5'") == 1, "gaps_svg: draws the longest gap with a larger mark");
	ok(strncmp(text, "<svg ", 5) == 0 && strcmp(text + size - 7, "</svg>\n") == 0,
	   "gaps_svg: writes one svg element");
	ok(!strstr(text, "nan") && !strstr(text, "inf"), "gaps_svg: writes finite numbers");
	free(text);
	free(gap);
}

int main(void)
{
	test_gaps_numbers();
	test_variation();
	test_gaps_picture();
	is(gaps_decade(0), "< 1 us", "gaps_decade: names the first decade");
	is(gaps_decade(6), ">= 100 ms", "gaps_decade: names the last decade");
	is(gaps_decade(7), "?", "gaps_decade: gives \"?\" beyond the last decade");
	return tap_done();
}
