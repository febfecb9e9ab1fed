/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Draws the classes of ranks over time. Each domain has a panel, with a strip for each rank that is
 * or was on the domain's CPUs. For the times when the rank was in this domain, the strip has the
 * colour of its class, and a line shows its rate and the two bounds on a logarithmic scale. An
 * arrow leads to the domain to which the rank was moved. All strips have the same time axis.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/printable.h"
#include "tools/contention_seen.h"

/* Sizes in pixels of 1/96 inch. */
enum {
	WIDTH = 1180,
	SIDE = 28, /* margin of the sheet */
	LABEL = 232, /* width of the column to the left of the strips */
	NUMBERS = 168, /* width of the column to the right of the strips */
	STRIP = 46, /* height of a strip */
	STRIP_LOW = 22, /* height of a strip on a sheet with more than STRIPS_HIGH strips */
	STRIPS_HIGH = 24, /* with more strips than this, all strips are low */
	STRIP_GAP = 7,
	PANEL_HEAD = 50,
	PANEL_END = 12,
	PANEL_GAP = 20,
	TITLE_HEIGHT = 84,
	AXIS = 40,
	LEGEND = 92,
	TICKS_MAX = 9,
};
#define STRIP_LEFT (SIDE + LABEL)
#define STRIP_WIDTH (WIDTH - 2 * SIDE - LABEL - NUMBERS)

/* Colour-blind people can distinguish these colours; in grey, their lightness differs. */
static const struct class_look {
	const char *fill, *line;
} look[] = {
	[RANK_UNKNOWN] = { "#e5e7eb", "#9ca3af" },
	[RANK_TURTLE] = { "#cfe8f3", "#2b7a9e" },
	[RANK_SEMI_DEVIL] = { "#f9dc8c", "#a36a00" },
	[RANK_DEVIL] = { "#e58a7b", "#8f1d14" },
};

struct strip_sheet {
	FILE *f;
	const struct seen *s;
	double from, to; /* Unix time */
	double turtle, devil;
	int strip; /* height of a strip */
};

static double time_to_x(const struct strip_sheet *d, double time)
{
	double part = (time - d->from) / (d->to - d->from);

	return STRIP_LEFT + fmin(fmax(part, 0), 1) * STRIP_WIDTH;
}

/* Return the y coordinate of RATE in a strip whose upper edge is at Y. */
static double rate_to_y(const struct strip_sheet *d, double rate, double y)
{
	return y + d->strip - 3 - contention_scale(rate) * (d->strip - 6);
}

static void put_svg_text(const struct strip_sheet *d, double x, double y, const char *class,
			 const char *text)
{
	char clean[400];

	fprintf(d->f, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
	for (const char *p = printable(clean, sizeof(clean), text); *p; p++) {
		if (*p == '&' || *p == '<' || *p == '>' || *p == '"')
			fprintf(d->f, "&#%d;", *p);
		else
			putc(*p, d->f);
	}
	fputs("</text>\n", d->f);
}

/* ---------------------------------------------------------------------------------- strips */

/* A rank of a step in the panel of a domain. */
struct strip {
	const struct seen_step *step;
	const struct seen_rank *rank;
	int domain;
	double y; /* the upper edge of the strip */
};

/* Draw the rectangles of a strip: one for each period in which the class stayed the same. */
static void draw_strip_classes(const struct strip_sheet *d, const struct strip *s)
{
	const struct seen_rank *r = s->rank;

	for (unsigned i = 0; i < r->n;) {
		unsigned k = i + 1;
		double x = time_to_x(d, r->point[i].time), to;

		while (k < r->n && r->point[k].class == r->point[i].class &&
		       r->point[k].domain == r->point[i].domain)
			k++;
		to = time_to_x(d, k < r->n ? r->point[k].time : s->step->time);
		if (r->point[i].domain == s->domain)
			fprintf(d->f,
				"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
				"fill=\"%s\" class=\"%s\"/>\n",
				x, s->y, fmax(to - x, 0.5), d->strip, look[r->point[i].class].fill,
				rank_class_name(r->point[i].class));
		i = k;
	}
}

/* Draw the line of the rate. It has gaps where counts are missing or the rank was elsewhere. */
static void draw_strip_rate(const struct strip_sheet *d, const struct strip *s)
{
	const struct seen_rank *r = s->rank;
	double last = 0;
	bool down = false;

	fputs("<path class=\"rate\" d=\"", d->f);
	for (unsigned i = 0; i < r->n; i++) {
		const struct seen_point *p = &r->point[i];

		if (p->rate < 0 || p->domain != s->domain) {
			if (down)
				fprintf(d->f, "L%.1f %.1f", time_to_x(d, p->time), last);
			down = false;
			continue;
		}
		last = rate_to_y(d, p->rate, s->y);
		fprintf(d->f, "%s%.1f %.1f", down ? "L" : "M", time_to_x(d, p->time), last);
		down = true;
	}
	if (down)
		fprintf(d->f, "L%.1f %.1f", time_to_x(d, s->step->time),
			r->rate >= 0 ? rate_to_y(d, r->rate, s->y) : last);
	fputs("\"/>\n", d->f);
}

static void draw_bound(const struct strip_sheet *d, double bound, double y)
{
	if (bound <= 0)
		return;
	fprintf(d->f, "<path class=\"bound\" d=\"M%d %.1fh%d\"/>\n", STRIP_LEFT,
		rate_to_y(d, bound, y), STRIP_WIDTH);
}

/* For a rank that has left the domain, write its name and its present domain. */
static void draw_left_labels(const struct strip_sheet *d, const struct strip *s)
{
	bool low = d->strip < STRIP;
	char text[64], label[64];

	put_svg_text(d, SIDE + 16, s->y + (low ? 15 : 20), "left",
		     seen_rank_label(label, s->step, s->rank));
	if (s->rank->domain < 0)
		strcpy(text, "now on CPUs of several domains");
	else
		snprintf(text, sizeof(text), "now in domain %d", s->rank->domain);
	if (low)
		put_svg_text(d, STRIP_LEFT - 8, s->y + 15, "note end", text);
	else
		put_svg_text(d, SIDE + 16, s->y + 36, "note", text);
}

/* Write the name and the numbers of a rank, in two lines if the strip is high enough. */
static void draw_strip_labels(const struct strip_sheet *d, const struct seen_step *s,
			      const struct seen_rank *r, double y)
{
	bool low = d->strip < STRIP;
	double right = WIDTH - SIDE - NUMBERS + 84, first = y + (low ? 15 : 20);
	char text[256], label[64];

	put_svg_text(d, SIDE + 16, first, "rank", seen_rank_label(label, s, r));
	if (low) {
		put_svg_text(d, STRIP_LEFT - 8, first, "note end", r->command);
	} else {
		snprintf(text, sizeof(text), "%.40s on CPU%s %.24s%s%.40s", r->command,
			 strpbrk(r->cpus, ",-") ? "s" : "", *r->cpus ? r->cpus : "?",
			 r->container ? ", " : "", r->container ? r->container : "");
		put_svg_text(d, SIDE + 16, y + 36, "note", text);
	}
	if (r->rate >= 0)
		snprintf(text, sizeof(text), "%.1f", r->rate);
	else
		strcpy(text, "?");
	put_svg_text(d, right - 10, first, "value", text);
	fprintf(d->f, "<g fill=\"%s\">", look[r->class].line);
	put_svg_text(d, right, first, "class", rank_class_name(r->class));
	fputs("</g>\n", d->f);
	if (low)
		return;
	if (s->ended)
		strcpy(text, "ended");
	else if (r->cpu >= 0)
		snprintf(text, sizeof(text), "CPU %.0f %%%s", r->cpu, r->idle ? ", idle" : "");
	else
		strcpy(text, "CPU ?");
	put_svg_text(d, right, y + 36, "note", text);
	put_svg_text(d, STRIP_LEFT + STRIP_WIDTH + 3, y + 9, "scale", "10k");
	put_svg_text(d, STRIP_LEFT + STRIP_WIDTH + 3, y + d->strip - 2, "scale", "0.1");
}

static void draw_strip(const struct strip_sheet *d, const struct strip *s)
{
	fputs("<g>\n", d->f);
	fprintf(d->f, "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" class=\"empty\"/>\n",
		STRIP_LEFT, s->y, STRIP_WIDTH, d->strip);
	draw_strip_classes(d, s);
	draw_bound(d, d->turtle, s->y);
	draw_bound(d, d->devil, s->y);
	if (s->rank->n)
		draw_strip_rate(d, s);
	if (s->rank->domain == s->domain)
		draw_strip_labels(d, s->step, s->rank, s->y);
	else
		draw_left_labels(d, s);
	fputs("</g>\n", d->f);
}

/* ---------------------------------------------------------------------------------- panels */

/* Return whether R is or was in DOMAIN. */
static bool was_in(const struct seen_rank *r, int domain)
{
	for (unsigned i = 0; i < r->n; i++)
		if (r->point[i].domain == domain)
			return true;
	return r->domain == domain;
}

static unsigned count_ranks_in(const struct seen *s, int domain)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->n; i++)
		for (unsigned k = 0; k < s->step[i].n; k++)
			n += was_in(&s->step[i].rank[k], domain);
	return n;
}

static double panel_height(const struct strip_sheet *d, unsigned ranks)
{
	return PANEL_HEAD + (int)ranks * (d->strip + STRIP_GAP) - STRIP_GAP + PANEL_END;
}

static void say_load(char *buf, size_t size, const struct seen_domain *m)
{
	if (m->rate >= 0 && m->peak > 0)
		snprintf(buf, size, "%.1f million misses a second, %.0f %% of %s", m->rate / 1e6,
			 100 * m->rate / m->peak,
			 m->calibrated ? "the calibrated peak" : "the highest seen");
	else if (m->rate >= 0)
		snprintf(buf, size, "%.1f million misses a second", m->rate / 1e6);
	else
		snprintf(buf, size, "misses a second: unknown");
}

static void draw_panel_head(const struct strip_sheet *d, const struct seen_domain *m, int domain,
			    double y)
{
	char text[200];

	if (!m) {
		put_svg_text(d, SIDE + 16, y + 22, "name", "CPUs of several domains");
		return;
	}
	snprintf(text, sizeof(text), "Domain %d", domain);
	put_svg_text(d, SIDE + 16, y + 22, "name", text);
	snprintf(text, sizeof(text), "cache of CPUs %.40s, memory %.40s", m->cpus,
		 *m->mems ? m->mems : "?");
	put_svg_text(d, SIDE + 16, y + 39, "note", text);
	say_load(text, sizeof(text), m);
	put_svg_text(d, STRIP_LEFT, y + 22, "note", text);
	snprintf(text, sizeof(text),
		 "ranks of all jobs: %u devil%s, %u semi-devil%s, %u turtle%s, %u unknown",
		 m->devils, m->devils == 1 ? "" : "s", m->semi_devils,
		 m->semi_devils == 1 ? "" : "s", m->turtles, m->turtles == 1 ? "" : "s",
		 m->unknown);
	put_svg_text(d, STRIP_LEFT, y + 39, "note", text);
	if (m->rate >= 0 && m->peak > 0) {
		double x = WIDTH - SIDE - NUMBERS - 150;

		fprintf(d->f,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"150\" height=\"9\" rx=\"4.5\" "
			"class=\"gauge\"/>\n<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
			"height=\"9\" rx=\"4.5\" class=\"load\"/>\n",
			x, y + 15, x, y + 15, 150 * fmin(m->rate / m->peak, 1));
	}
}

static double draw_panel(const struct strip_sheet *d, const struct seen_domain *m, int domain,
			 double y)
{
	double height = panel_height(d, count_ranks_in(d->s, domain)), at = y + PANEL_HEAD;

	fprintf(d->f,
		"<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" rx=\"10\" "
		"class=\"panel\"/>\n",
		SIDE, y, WIDTH - 2 * SIDE, height);
	draw_panel_head(d, m, domain, y);
	for (unsigned i = 0; i < d->s->n; i++)
		for (unsigned k = 0; k < d->s->step[i].n; k++)
			if (was_in(&d->s->step[i].rank[k], domain)) {
				struct strip s = { &d->s->step[i], &d->s->step[i].rank[k], domain,
						   at };

				draw_strip(d, &s);
				at += d->strip + STRIP_GAP;
			}
	return y + height + PANEL_GAP;
}

/* ----------------------------------------------------------------------------------- moves */

/* Return the upper edge of the strip of RANK in the panel of DOMAIN, or -1 if there is no strip. */
static double find_strip(const struct strip_sheet *d, unsigned domains,
			 const struct seen_rank *rank, int domain)
{
	double y = TITLE_HEIGHT;

	for (unsigned m = 0; m <= domains; m++) {
		int now = m < domains ? (int)m : -1;
		unsigned ranks = count_ranks_in(d->s, now), at = 0;

		for (unsigned i = 0; now == domain && i < d->s->n; i++)
			for (unsigned k = 0; k < d->s->step[i].n; k++) {
				const struct seen_rank *r = &d->s->step[i].rank[k];

				if (r == rank && was_in(r, domain))
					return y + PANEL_HEAD + (int)at * (d->strip + STRIP_GAP);
				at += was_in(r, domain);
			}
		if (ranks)
			y += panel_height(d, ranks) + PANEL_GAP;
	}
	return -1;
}

/*
 * Draw an arrow at X between two strips with the upper edges FROM and TO. Downward arrows bend to
 * the right and upward arrows to the left, so that both arrows of an exchange are visible.
 */
static void draw_arrow(const struct strip_sheet *d, double x, double from, double to,
		       const char *colour)
{
	double y1 = from < to ? from + d->strip : from, y2 = from < to ? to - 1 : to + d->strip + 1;
	double bend = from < to ? 30 : -30, head = from < to ? -9 : 9;

	for (unsigned i = 0; i < 2; i++)
		fprintf(d->f,
			"<path class=\"%s\" stroke=\"%s\" d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f "
			"%.1f\"/>\n",
			i ? "move" : "halo", i ? colour : "#ffffff", x, y1, x + bend,
			y1 + (y2 - y1) * 0.25, x + bend, y1 + (y2 - y1) * 0.75, x, y2 + head / 2);
	fprintf(d->f,
		"<path fill=\"%s\" d=\"M%.1f %.1fl-5 %.1fh10z\"/>\n"
		"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n",
		colour, x, y2, head, x, y1, colour);
}

/* Draw an arrow for each change of a rank's domain. Returns the number of arrows. */
static unsigned draw_moves(const struct strip_sheet *d, unsigned domains)
{
	unsigned n = 0;

	for (unsigned i = 0; i < d->s->n; i++)
		for (unsigned k = 0; k < d->s->step[i].n; k++) {
			const struct seen_rank *r = &d->s->step[i].rank[k];

			for (unsigned p = 1; p < r->n; p++) {
				double from, to;

				if (r->point[p].domain == r->point[p - 1].domain)
					continue;
				from = find_strip(d, domains, r, r->point[p - 1].domain);
				to = find_strip(d, domains, r, r->point[p].domain);
				if (from < 0 || to < 0)
					continue;
				draw_arrow(d, time_to_x(d, r->point[p].time), from, to,
					   look[r->point[p - 1].class].line);
				n++;
			}
		}
	return n;
}

/* ----------------------------------------------------------------------------------- sheet */

/*
 * Return the distance of ticks in seconds: the shortest of 1, 2, 5, 10, 15, 30, ... with which SPAN
 * seconds have at most TICKS_MAX ticks.
 */
static double tick_length(double span)
{
	static const double step[] = { 1,   2,	 5,    10,   15,   30,	  60,	 120,	300,
				       600, 900, 1800, 3600, 7200, 21600, 43200, 86400, 604800 };
	unsigned i = 0;

	while (i < sizeof(step) / sizeof(step[0]) - 1 && span / step[i] > TICKS_MAX)
		i++;
	return step[i];
}

static void draw_time_axis(const struct strip_sheet *d, double top, double y)
{
	double length = tick_length(d->to - d->from);
	char text[64];

	for (double t = 0; t <= d->to - d->from + 0.01; t += length) {
		double x = time_to_x(d, d->from + t);

		fprintf(d->f, "<path class=\"tick\" d=\"M%.1f %.1fV%.1f\"/>\n", x, top, y + 5);
		if (length < 60)
			snprintf(text, sizeof(text), "%.0f s", t);
		else if (length < 3600)
			snprintf(text, sizeof(text), "%.0f min", t / 60);
		else
			snprintf(text, sizeof(text), "%.0f h", t / 3600);
		put_svg_text(d, x, y + 20, "time", text);
	}
}

static void draw_class_legend(const struct strip_sheet *d, double y, bool moves)
{
	static const enum rank_class order[] = { RANK_TURTLE, RANK_SEMI_DEVIL, RANK_DEVIL,
						 RANK_UNKNOWN };
	double x = SIDE;
	char text[200];

	for (unsigned i = 0; i < 4; i++, x += 190) {
		fprintf(d->f,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"26\" height=\"15\" rx=\"3\" "
			"fill=\"%s\" stroke=\"%s\"/>\n",
			x, y, look[order[i]].fill, look[order[i]].line);
		if (order[i] == RANK_UNKNOWN)
			strcpy(text, "unknown");
		else
			snprintf(text, sizeof(text), "%s: %s %.0f", rank_class_name(order[i]),
				 order[i] == RANK_DEVIL ? "above" : "to",
				 order[i] == RANK_TURTLE ? d->turtle : d->devil);
		put_svg_text(d, x + 34, y + 12, "entry", text);
	}
	if (moves) {
		fprintf(d->f,
			"<path class=\"move\" stroke=\"#1f2937\" d=\"M%.1f %.1fh18\"/>\n"
			"<path fill=\"#1f2937\" d=\"M%.1f %.1fl-9 -5v10z\"/>\n",
			x, y + 7.5, x + 26, y + 7.5);
		put_svg_text(d, x + 34, y + 12, "entry", "a move to another domain");
	}
	fprintf(d->f, "<path class=\"rate\" d=\"M%d %.1fl9 -6 9 4 8 -7\"/>\n", SIDE, y + 38);
	put_svg_text(d, SIDE + 34, y + 40, "entry",
		     "misses of the last-level cache for 10,000 instructions, on a logarithmic "
		     "scale of 0.1 to 10,000");
	fprintf(d->f, "<path class=\"bound\" d=\"M%d %.1fh26\"/>\n", SIDE, y + 61);
	put_svg_text(d, SIDE + 34, y + 66, "entry",
		     "the bounds of the classes; a rank's class is by the mean of its last samples "
		     "when it took that class");
}

/* Append the numbers of moves of ranks and of moved bytes to TEXT, which has SIZE bytes. */
static void append_moves(char *text, size_t size, const struct seen *s)
{
	double moves = 0, pages = 0;
	size_t used = strlen(text);

	for (unsigned i = 0; i < s->n; i++)
		for (unsigned k = 0; k < s->step[i].n; k++) {
			moves += fmax(s->step[i].rank[k].moves, 0);
			pages += fmax(s->step[i].rank[k].pages, 0);
		}
	if (moves > 0)
		snprintf(text + used, size - used,
			 "; moves of ranks: %.0f, memory that followed: "
			 "%.0f MiB",
			 moves, pages / (1 << 20));
}

static void draw_sheet_title(const struct strip_sheet *d)
{
	const struct seen_step *s = &d->s->step[0];
	char text[300], when[64];
	time_t from = (time_t)d->from;
	struct tm tm;

	if (d->s->n == 1)
		snprintf(text, sizeof(text), "Contention on %.80s: job %u, step %.12s", s->host,
			 s->job, s->step);
	else
		snprintf(text, sizeof(text), "Contention on %.80s: %u steps", s->host, d->s->n);
	put_svg_text(d, SIDE, 44, "title", text);
	if (!localtime_r(&from, &tm) || !strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm))
		strcpy(when, "?");
	if (s->row)
		snprintf(text, sizeof(text), "from %s; counters: %.40s, events %.40s, quality %s%s",
			 when, s->provider, s->row, s->quality ? s->quality : "?",
			 s->simulated ? "; of a SIMULATED cache" : "");
	else
		snprintf(text, sizeof(text), "from %s; counters: %.40s%s", when, s->provider,
			 s->simulated ? "; of a SIMULATED cache" : "");
	append_moves(text, sizeof(text), d->s);
	put_svg_text(d, SIDE, 66, "note", text);
}

static const char strip_style[] =
	"<style>text{font-family:'DejaVu Sans','Helvetica Neue',Arial,sans-serif;fill:#1f2937}"
	"g[fill] text{fill:inherit}"
	".title{font-size:24px;font-weight:bold}.name{font-size:16px;font-weight:bold}"
	".rank{font-size:13px;font-weight:bold}.note{font-size:11.5px;fill:#6b7280}"
	".entry{font-size:12.5px}.time{font-size:11.5px;fill:#6b7280;text-anchor:middle}"
	".value{font-size:15px;font-weight:bold;text-anchor:end}"
	".class{font-size:13px;font-weight:bold}"
	".panel{fill:#ffffff;stroke:#cbd2dc;stroke-width:1.2}.empty{fill:#f6f7f9}"
	".rate{fill:none;stroke:#1f2937;stroke-width:1.5;stroke-linejoin:round}"
	".bound{fill:none;stroke:#374151;stroke-width:0.8;stroke-dasharray:3 3;opacity:0.6}"
	".left{font-size:13px;fill:#6b7280}.move{fill:none;stroke-width:2.4}"
	".halo{fill:none;stroke-width:6;opacity:0.8}"
	".tick{fill:none;stroke:#6b7280;stroke-width:0.8;opacity:0.25}"
	".end{text-anchor:end}.scale{font-size:8.5px;fill:#9ca3af}.gauge{fill:#e5e7eb}.load{fill:#"
	"6b7280}</style>\n";

/* Set D->from and D->to to the first and the last time of all points, at least a second apart. */
static void find_times(struct strip_sheet *d)
{
	d->from = INFINITY;
	d->to = 0;
	for (unsigned i = 0; i < d->s->n; i++) {
		const struct seen_step *s = &d->s->step[i];

		d->to = fmax(d->to, s->time);
		for (unsigned k = 0; k < s->n; k++)
			if (s->rank[k].n)
				d->from = fmin(d->from, s->rank[k].point[0].time);
	}
	if (!(d->from < d->to - 1))
		d->from = d->to - 1;
}

static const struct seen_step *find_latest(const struct seen *s)
{
	const struct seen_step *last = &s->step[0];

	for (unsigned i = 1; i < s->n; i++)
		if (s->step[i].time > last->time)
			last = &s->step[i];
	return last;
}

void contention_draw_svg(FILE *f, const struct seen *s)
{
	const struct seen_step *last = find_latest(s);
	struct strip_sheet d = { .f = f, .s = s, .turtle = last->turtle, .devil = last->devil };
	double height = TITLE_HEIGHT, y = TITLE_HEIGHT;
	unsigned ranks = 0;

	find_times(&d);
	for (int m = -1; m < (int)last->n_domains; m++)
		ranks += count_ranks_in(s, m);
	d.strip = ranks > STRIPS_HIGH ? STRIP_LOW : STRIP;
	for (int m = -1; m < (int)last->n_domains; m++)
		if (count_ranks_in(s, m))
			height += panel_height(&d, count_ranks_in(s, m)) + PANEL_GAP;
	fprintf(f,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
		"xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
		"viewBox=\"0 0 %d %.0f\">\n%s"
		"<rect width=\"%d\" height=\"%.0f\" fill=\"#fbfcfe\"/>\n",
		WIDTH, height + AXIS + LEGEND, WIDTH, height + AXIS + LEGEND, strip_style, WIDTH,
		height + AXIS + LEGEND);
	draw_sheet_title(&d);
	for (unsigned m = 0; m < last->n_domains; m++)
		if (count_ranks_in(s, (int)m))
			y = draw_panel(&d, &last->domain[m], (int)m, y);
	if (count_ranks_in(s, -1))
		draw_panel(&d, NULL, -1, y);
	draw_time_axis(&d, TITLE_HEIGHT + PANEL_HEAD, height - PANEL_GAP);
	draw_class_legend(&d, height + AXIS - 8, draw_moves(&d, last->n_domains) > 0);
	fputs("</svg>\n", f);
}
