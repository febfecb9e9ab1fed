/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOOLS_NOISE_GAPS_H
#define NODEOS_TOOLS_NOISE_GAPS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * What a run has recorded: of detours each interruption, of work each quantum. Times in ns since
 * the start. Pure: what it says depends on the numbers only.
 */
struct gap {
	uint64_t at; /* when it began */
	uint64_t length;
};

struct gaps {
	struct gap *gap; /* in the order of time */
	size_t n;
	uint64_t total; /* ns of the whole run */
	uint64_t least; /* the shortest loop, or quantum */
};

#define DECADES 7 /* below 1 us, below 10 us, ..., 100 ms and more */

struct summary {
	size_t n[DECADES];
	/* ns: of a detour all but the shortest loop, of a quantum all but the shortest */
	uint64_t lost[DECADES];
	size_t count;
	uint64_t lost_all;
	struct gap longest;
	uint64_t median; /* of lengths */
	double variation; /* standard deviation by mean, of lengths; 0 of none */
};

/* Sorts nothing of G; -1: out of memory. */
int gaps_summary(struct summary *out, const struct gaps *g);

/* "< 1 us", "1-10 us", ..., ">= 100 ms" */
const char *gaps_decade(unsigned i);

/* A picture of G: every gap by its time and length, lengths by powers of ten. TITLE is put above
 * it. */
void gaps_svg(FILE *f, const struct gaps *g, const struct summary *s, const char *title);

#endif
