/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/noise/gaps.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int gaps_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static unsigned decade_of(uint64_t ns)
{
	unsigned i = 0;

	for (uint64_t end = 1000; i < DECADES - 1 && ns >= end; end *= 10)
		i++;
	return i;
}

const char *gaps_decade(unsigned i)
{
	static const char *const name[DECADES] = { "< 1 us",  "1-10 us",   "10-100 us", "0.1-1 ms",
						   "1-10 ms", "10-100 ms", ">= 100 ms" };

	return i < DECADES ? name[i] : "?";
}

int gaps_summary(struct summary *out, const struct gaps *g)
{
	uint64_t *length = malloc((g->n ? g->n : 1) * sizeof(*length));
	double mean = 0, squares = 0;

	if (!length)
		return -1;
	memset(out, 0, sizeof(*out));
	out->count = g->n;
	for (size_t i = 0; i < g->n; i++) {
		const struct gap *one = &g->gap[i];
		uint64_t lost = one->length > g->least ? one->length - g->least : 0;
		unsigned decade = decade_of(one->length);

		length[i] = one->length;
		out->n[decade]++;
		out->lost[decade] += lost;
		out->lost_all += lost;
		if (one->length > out->longest.length)
			out->longest = *one;
		mean += (double)one->length / (double)g->n;
	}
	for (size_t i = 0; i < g->n; i++)
		squares += ((double)length[i] - mean) * ((double)length[i] - mean);
	if (g->n) {
		qsort(length, g->n, sizeof(*length), gaps_compare);
		out->median = length[g->n / 2];
		out->variation = mean > 0 ? sqrt(squares / (double)g->n) / mean : 0;
	}
	free(length);
	return 0;
}

/* ------------------------------------------------------------------ the picture */

#define WIDTH 960
#define HEIGHT 420
#define LEFT 90
#define RIGHT 30
#define TOP 70
#define BOTTOM 60
/*
 * Limit of marks in a picture. If there are more gaps, one mark shows the longest of several
 * neighbours.
 */
#define MARKS_MAX 20000

static double gaps_x_of(uint64_t at, uint64_t total)
{
	return LEFT + (WIDTH - LEFT - RIGHT) * (total ? (double)at / (double)total : 0);
}

/* Return the y coordinate of a length of NS. The logarithmic scale goes from 100 ns to 1 s. */
static double gaps_y_of(uint64_t ns)
{
	double d = log10(ns < 100 ? 100 : ns > 1000000000 ? 1e9 : (double)ns) - 2;

	return HEIGHT - BOTTOM - d / 7 * (HEIGHT - TOP - BOTTOM);
}

static void put_escaped(FILE *f, const char *text)
{
	for (; *text; text++)
		if (*text == '<')
			fputs("&lt;", f);
		else if (*text == '&')
			fputs("&amp;", f);
		else
			putc(*text, f);
}

static void gaps_put_axes(FILE *f, uint64_t total)
{
	static const char *const name[] = { "100 ns",	     "1 \302\265s", "10 \302\265s",
					    "100 \302\265s", "1 ms",	    "10 ms",
					    "100 ms",	     "1 s" };
	uint64_t at = 100;

	for (unsigned i = 0; i < 8; i++, at *= 10) {
		double y = gaps_y_of(at);

		fprintf(f, "<line x1='%d' x2='%d' y1='%.1f' y2='%.1f' stroke='#d8dee6'/>\n", LEFT,
			WIDTH - RIGHT, y, y);
		fprintf(f, "<text x='%d' y='%.1f' text-anchor='end'>%s</text>\n", LEFT - 10, y + 4,
			name[i]);
	}
	for (unsigned i = 0; i <= 5; i++) {
		double x = gaps_x_of(total / 5 * i, total);

		fprintf(f, "<line x1='%.1f' x2='%.1f' y1='%d' y2='%d' stroke='#eef1f5'/>\n", x, x,
			TOP, HEIGHT - BOTTOM);
		fprintf(f, "<text x='%.1f' y='%d' text-anchor='middle'>%.*f s</text>\n", x,
			HEIGHT - BOTTOM + 20,
			total < 500000000    ? 3
			: total < 5000000000 ? 2
					     : 1,
			(double)total / 5e9 * i);
	}
}

void gaps_svg(FILE *f, const struct gaps *g, const struct summary *s, const char *title)
{
	size_t every = g->n / MARKS_MAX + 1;

	fprintf(f,
		"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' "
		"height='%d' font-family='sans-serif' font-size='12' fill='#333'>\n"
		"<rect width='100%%' height='100%%' fill='white'/>\n<text x='%d' y='28' "
		"font-size='17'>",
		WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
	put_escaped(f, title);
	fprintf(f,
		"</text>\n<text x='%d' y='50' fill='#777'>%zu in %.1f s, %.3f %% of the time lost, "
		"the longest %.3f ms</text>\n",
		LEFT, s->count, (double)g->total / 1e9,
		g->total ? 100.0 * (double)s->lost_all / (double)g->total : 0,
		(double)s->longest.length / 1e6);
	gaps_put_axes(f, g->total);
	for (size_t i = 0; i < g->n; i += every) {
		const struct gap *most = &g->gap[i];

		for (size_t k = i; k < i + every && k < g->n; k++)
			if (g->gap[k].length > most->length)
				most = &g->gap[k];
		fprintf(f,
			"<circle cx='%.1f' cy='%.1f' r='%s' fill='#2a6f97' fill-opacity='0.55'/>\n",
			gaps_x_of(most->at, g->total), gaps_y_of(most->length),
			most->length >= 1000000 ? "3.5" : "2");
	}
	fprintf(f, "<text x='%d' y='%d' text-anchor='middle'>time since the start</text>\n</svg>\n",
		(LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14);
}
