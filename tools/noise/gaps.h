/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOOLS_NOISE_GAPS_H
#define NODEOS_TOOLS_NOISE_GAPS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * The gaps that nodeos-noise measures. A gap is an interruption, or with --work the time that one
 * piece of work takes. Times are in ns, from the start of the run.
 */
struct gap {
	uint64_t at; /* start of the gap */
	uint64_t length;
};

struct gaps {
	struct gap *gap; /* sorted by time */
	size_t n;
	uint64_t total; /* ns of the whole run */
	uint64_t least; /* the shortest loop; with --work the shortest piece of work */
};

#define DECADES 7 /* below 1 us, below 10 us, ..., 100 ms and more */

struct summary {
	size_t n[DECADES]; /* number of gaps by their length */
	/* lost time by the length of the gaps: ns above struct gaps.least */
	uint64_t lost[DECADES];
	size_t count;
	uint64_t lost_all;
	struct gap longest;
	uint64_t median; /* median length */
	double variation; /* standard deviation / mean of lengths; 0 without gaps */
};

/* Fill OUT from G, without changing G. Returns 0, or -1 if out of memory. */
int gaps_summary(struct summary *out, const struct gaps *g);

/* Return the name of decade I: "< 1 us", "1-10 us", ..., ">= 100 ms"; "?" for any other I. */
const char *gaps_decade(unsigned i);

/* Draw the gaps of G as an SVG with TITLE: time to the right, length upwards on a log scale. */
void gaps_svg(FILE *f, const struct gaps *g, const struct summary *s, const char *title);

#endif
