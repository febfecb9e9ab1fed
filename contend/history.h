/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_HISTORY_H
#define NODEOS_CONTEND_HISTORY_H

#include <stdint.h>
#include <sys/types.h>

#include "contention/observed.h"

/*
 * The rate, the class and the domain of each rank over time, for pictures, in limited memory. A
 * rank has at most HISTORY_POINTS points for its whole life. When it has that many, one of each two
 * points is dropped, and from then on only half as many samples become points. If class or domain
 * changes at one of the two points, this point stays.
 */
#define HISTORY_POINTS 240
#define HISTORY_RANKS_MAX 4096 /* ranks of a host (12 MB in total); further ranks have no history */

struct history_point {
	uint32_t at; /* tenths of a second since the first point */
	uint32_t rate; /* in the unit of classify.h */
	uint8_t class; /* enum rank_class */
	int16_t domain; /* index in struct observed_node; -1: several, or none */
};

/* A history without points is all zero. */
struct history {
	double first; /* Unix time of the first point */
	unsigned n, capacity;
	/*
	 * every STRIDE-th sample becomes a point, and so does a sample at which class or domain
	 * changes
	 */
	unsigned stride;
	unsigned skipped; /* samples since the last point */
	struct history_point *point; /* owned */
};

/* A sample. DOMAIN: as in struct history_point; numbers above INT16_MAX count as -1. */
struct history_sample {
	double time; /* Unix time */
	uint32_t rate; /* in the unit of classify.h */
	enum rank_class class;
	int domain;
};

/*
 * Add a sample, or drop it if out of memory. A time before the last point's counts as the last
 * point's time.
 */
void history_add(struct history *h, const struct history_sample *s);
/* Return the Unix time of point I. */
double history_time(const struct history *h, unsigned i);
void history_free(struct history *h); /* H is empty then */

/* The histories of a host's ranks; all zero if there are none. */
struct histories {
	unsigned n;
	struct history_entry *entry; /* owned */
	unsigned cursor; /* index at which the next search begins */
};

/*
 * Add the present rate, class and domain of each rank of NODE, and drop the histories of other
 * ranks.
 */
void histories_add(struct histories *all, const struct observed_node *node);
/* Return the history of RANK of STEP; NULL if it has none. */
const struct history *histories_find(struct histories *all, const struct observed_step *step,
				     const struct observed_rank *rank);
void histories_free(struct histories *all);

#endif
