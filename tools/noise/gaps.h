/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOOLS_NOISE_GAPS_H
#define NODEOS_TOOLS_NOISE_GAPS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Gaps of a run: with detours, each interruption; with fixed work (--work), the duration of each
 * quantum. Times are in ns since the start. Pure: results depend on the numbers only.
 */
struct gap {
	uint64_t at; /* its start */
	uint64_t length;
};

struct gaps {
	struct gap *gap; /* sorted by time */
	size_t n;
	uint64_t total; /* ns of the whole run */
	uint64_t least; /* the shortest loop, or quantum */
};

#define DECADES 7 /* below 1 us, below 10 us, ..., 100 ms and more */

struct summary {
	size_t n[DECADES];
	/* ns above the shortest loop or quantum */
	uint64_t lost[DECADES];
	size_t count;
	uint64_t lost_all;
	struct gap longest;
	uint64_t median; /* of lengths */
	double variation; /* standard deviation / mean of lengths; 0 without gaps */
};

/* Fill OUT from G, which stays as it is. Returns 0, or -1 when out of memory. */
int gaps_summary(struct summary *out, const struct gaps *g);

/* Name of decade I: "< 1 us", "1-10 us", ..., ">= 100 ms"; "?" for any other I. */
const char *gaps_decade(unsigned i);

/* Draw G below TITLE: each gap at its time and length, lengths on a logarithmic scale. */
void gaps_svg(FILE *f, const struct gaps *g, const struct summary *s, const char *title);

#endif
