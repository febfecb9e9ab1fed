/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_HISTORY_H
#define NODEOS_CONTEND_HISTORY_H

#include <stdint.h>
#include <sys/types.h>

#include "contention/observed.h"

/*
 * How rate and class of each rank went over time, for pictures, in bounded memory. A rank has at
 * most HISTORY_POINTS points over its whole life: when they are full, every second one goes, and
 * from then on only every second sample is kept, so that points are further and further apart. Of
 * two points of which one has to go, one where the class became another stays.
 */
#define HISTORY_POINTS 240
#define HISTORY_RANKS_MAX 4096 /* of a host; later ones have no history: 12 MB in all */

struct history_point {
	uint32_t at; /* tenths of a second since the first point */
	uint32_t rate; /* as classify.h has it */
	uint8_t class; /* enum rank_class */
};

/* All zero is one without points. */
struct history {
	double first; /* Unix time of the first point */
	unsigned n, room;
	unsigned stride; /* every STRIDE-th sample is kept, and those that change the class */
	unsigned skipped; /* samples since the last point */
	struct history_point *point; /* owned */
};

/* Add a sample. Out of memory loses it. A time before the last point's is taken as that. */
void history_add(struct history *h, double time, uint32_t rate, enum rank_class class);
double history_time(const struct history *h, unsigned i);
void history_free(struct history *h); /* it is then empty */

/* The histories of a host's ranks. All zero is empty. */
struct histories {
	unsigned n;
	struct history_entry *entry; /* owned */
	unsigned cursor; /* where the next look is likely to find its rank */
};

/* Add the present rate and class of each rank of NODE, and forget the ranks that are gone. */
void histories_add(struct histories *all, const struct observed_node *node);
/* NULL: it has none. */
const struct history *histories_find(struct histories *all, const struct observed_step *step,
				     const struct observed_rank *rank);
void histories_free(struct histories *all);

#endif
