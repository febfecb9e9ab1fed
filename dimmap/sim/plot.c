/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Draws hit ratio against buffer size: a line for each policy, with its name at the end. */
#include <math.h>
#include <string.h>

#include "dimmap/sim/results.h"

#define WIDTH 960
#define HEIGHT 540
#define LEFT 80
#define RIGHT 150
#define TOP 84
#define BOTTOM 84
#define TITLE_MAX 80
#define NAME_STEP 19.0 /* least distance between two names */
#define TICK_STEP 56.0 /* least distance between the labels of two sizes */

struct look {
	const char *name, *color, *dash;
	double width;
	const char *mark; /* the mark, a path around 0,0; "": no mark */
};

/* Colours, marks and dashes that colour-blind people can distinguish (Okabe and Ito). */
static const struct look looks[] = {
	{ "opt", "#444444", "2 4", 2, "" },
	{ "lru", "#888888", "8 4", 2, "" },
	{ "dimmap", "#0072b2", "", 2.5, "M-4.5,-4.5h9v9h-9z" },
	{ "fifo", "#e69f00", "", 2.5, "M0,-5.5L5.5,4.5H-5.5z" },
	{ "sieve", "#009e73", "", 2.5, "M0,-6L6,0L0,6L-6,0z" },
	{ "s3fifo", "#d55e00", "", 2.5, "M-4.5,0a4.5,4.5 0 1 0 9,0a4.5,4.5 0 1 0 -9,0z" },
};
static const struct look other = { "", "#cc79a7", "", 2.5,
				   "M-5,-1.5h3.5v-3.5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5z" };

static const struct look *look_of(const char *name)
{
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++)
		if (strcmp(looks[i].name, name) == 0)
			return &looks[i];
	return &other;
}

/* Write the title. If it is long, as a path may be, write only its end. */
static void put_title(FILE *f, const char *text)
{
	if (strlen(text) > TITLE_MAX) {
		text += strlen(text) - TITLE_MAX;
		fputs("...", f);
	}
	for (; *text; text++)
		if (*text == '<')
			fputs("&lt;", f);
		else if (*text == '&')
			fputs("&amp;", f);
		/* bytes that are not ASCII: the encoding is unknown */
		else if (*text < ' ' || *text > '~')
			putc('?', f);
		else
			putc(*text, f);
}

/* The axis of sizes is logarithmic; a single size is in the middle. */
static double plot_x_of(const struct results *r, unsigned size)
{
	double first = log2(r->size[0]), last = log2(r->size[r->sizes - 1]);
	double part = last > first ? (log2(r->size[size]) - first) / (last - first) : 0.5;

	return LEFT + 20 + part * (WIDTH - LEFT - RIGHT - 40);
}

static double plot_y_of(double ratio)
{
	return HEIGHT - BOTTOM - ratio * (HEIGHT - TOP - BOTTOM);
}

static void plot_put_axes(FILE *f, const struct results *r)
{
	double before = -TICK_STEP;

	for (unsigned i = 0; i <= 10; i += 2) {
		fprintf(f, "<line x1='%d' x2='%d' y1='%.1f' y2='%.1f' stroke='%s'/>\n", LEFT,
			WIDTH - RIGHT, plot_y_of(i / 10.0), plot_y_of(i / 10.0),
			i ? "#e3e7ec" : "#666");
		fprintf(f, "<text x='%d' y='%.1f' text-anchor='end'>%u %%</text>\n", LEFT - 10,
			plot_y_of(i / 10.0) + 4, 10 * i);
	}
	for (unsigned i = 0; i < r->sizes; i++) {
		double x = plot_x_of(r, i);

		/* skip labels that would overlap; the last label is always printed */
		if (x - before < TICK_STEP ||
		    (i + 1 < r->sizes && plot_x_of(r, r->sizes - 1) - x < TICK_STEP))
			continue;
		before = x;
		fprintf(f, "<line x1='%.1f' x2='%.1f' y1='%d' y2='%d' stroke='#eef1f5'/>\n", x, x,
			TOP, HEIGHT - BOTTOM);
		fprintf(f, "<line x1='%.1f' x2='%.1f' y1='%d' y2='%d' stroke='#666'/>\n", x, x,
			HEIGHT - BOTTOM, HEIGHT - BOTTOM + 5);
		fprintf(f, "<text x='%.1f' y='%d' text-anchor='middle'>%u</text>\n", x,
			HEIGHT - BOTTOM + 21, r->size[i]);
		fprintf(f,
			"<text x='%.1f' y='%d' text-anchor='middle' fill='#777'>%.3g %%</text>\n",
			x, HEIGHT - BOTTOM + 38, 100.0 * r->size[i] / (double)r->pages);
	}
	fprintf(f,
		"<text x='%d' y='%d' text-anchor='middle'>buffer, in pages and as a part of all "
		"pages (logarithmic)</text>\n",
		(LEFT + WIDTH - RIGHT) / 2, HEIGHT - 18);
	fprintf(f,
		"<text x='22' y='%d' text-anchor='middle' transform='rotate(-90 22 %d)'>accesses "
		"that did not wait for the file</text>\n",
		(TOP + HEIGHT - BOTTOM) / 2, (TOP + HEIGHT - BOTTOM) / 2);
}

static void put_line(FILE *f, const struct results *r, unsigned line)
{
	const struct look *look = look_of(r->line[line].name);

	fprintf(f,
		"<g stroke='%s' stroke-width='%.1f' fill='none' stroke-linejoin='round'>\n<path "
		"stroke-dasharray='%s' d='",
		look->color, look->width, *look->dash ? look->dash : "none");
	for (unsigned i = 0; i < r->sizes; i++)
		fprintf(f, "%c%.1f,%.1f", i ? 'L' : 'M', plot_x_of(r, i),
			plot_y_of(results_ratio(r, line, i)));
	fputs("'/>\n", f);
	for (unsigned i = 0; *look->mark && i < r->sizes; i++)
		fprintf(f,
			"<path transform='translate(%.1f %.1f)' stroke-width='1.5' fill='white' "
			"d='%s'/>\n",
			plot_x_of(r, i), plot_y_of(results_ratio(r, line, i)), look->mark);
	fputs("</g>\n", f);
}

/* Place names at the ends of their lines, without overlap and inside the picture. */
static void put_names(FILE *f, const struct results *r)
{
	const int x = WIDTH - RIGHT + 24;
	unsigned order[LINES_MAX];
	double y[LINES_MAX];

	for (unsigned i = 0; i < r->lines; i++) {
		unsigned at = i;

		for (; at && results_ratio(r, order[at - 1], r->sizes - 1) <
				     results_ratio(r, i, r->sizes - 1);
		     at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	for (unsigned i = 0; i < r->lines; i++) {
		y[i] = plot_y_of(results_ratio(r, order[i], r->sizes - 1));
		if (i && y[i] < y[i - 1] + NAME_STEP)
			y[i] = y[i - 1] + NAME_STEP;
	}
	for (unsigned i = r->lines; i-- > 0;) {
		double most = i + 1 < r->lines ? y[i + 1] - NAME_STEP : HEIGHT - BOTTOM;

		if (y[i] > most)
			y[i] = most;
	}
	for (unsigned i = 0; i < r->lines; i++) {
		const struct look *look = look_of(r->line[order[i]].name);

		fprintf(f,
			"<path d='M%.1f,%.1fL%d,%.1f' stroke='%s' stroke-opacity='0.45' "
			"fill='none'/>\n",
			plot_x_of(r, r->sizes - 1) + 9,
			plot_y_of(results_ratio(r, order[i], r->sizes - 1)), x - 4, y[i],
			look->color);
		fprintf(f,
			"<path d='M%d,%.1fh26' stroke='%s' stroke-width='%.1f' "
			"stroke-dasharray='%s' fill='none'/>\n",
			x, y[i], look->color, look->width, *look->dash ? look->dash : "none");
		if (*look->mark)
			fprintf(f,
				"<path transform='translate(%d %.1f)' stroke='%s' "
				"stroke-width='1.5' fill='white' d='%s'/>\n",
				x + 13, y[i], look->color, look->mark);
		fprintf(f, "<text x='%d' y='%.1f'>%s</text>\n", x + 34, y[i] + 4,
			r->line[order[i]].name);
	}
}

void results_svg(FILE *f, const struct results *r)
{
	fprintf(f,
		"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' "
		"height='%d' font-family='sans-serif' font-size='13' fill='#333'>\n"
		"<rect width='100%%' height='100%%' fill='white'/>\n<text x='%d' y='34' "
		"font-size='18'>",
		WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
	put_title(f, r->what);
	fprintf(f,
		"</text>\n<text x='%d' y='58' fill='#777'>%llu accesses to %llu pages; batches of "
		"%u, read %u at once, pools: %u</text>\n",
		LEFT, (unsigned long long)r->accesses, (unsigned long long)r->pages, r->batch,
		r->fill, r->pools);
	plot_put_axes(f, r);
	for (unsigned i = 0; i < r->lines; i++)
		put_line(f, r, i);
	put_names(f, r);
	fputs("</svg>\n", f);
}
