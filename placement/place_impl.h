/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_PLACEMENT_PLACE_IMPL_H
#define NODEOS_PLACEMENT_PLACE_IMPL_H

#include "placement/place.h"

/* Inside of place.c and its policies. */

/*
 * place_layout.c: units that are placed one after the other, and the cores that each domain still
 * has.
 */
struct layout {
	const struct place_host *host;
	unsigned room[PLACE_DOMAINS_MAX];
	unsigned load[PLACE_DOMAINS_MAX]; /* cores of the units placed so far */
	unsigned laid; /* how many */
};

/* Begin with the room that fixed units leave. */
void layout_begin(struct layout *l, const struct place_host *h);

/* Count a unit that is in its domain and stays there; its room is taken already. */
void layout_count(struct layout *l, const struct place_unit *u);

/* The domain for a unit of CORES cores by load and snake order; -1: it fits in none. */
int layout_add(struct layout *l, unsigned cores);

/* The policies: dino and spread, in place_by_class.c; di, in place_by_rate.c. */
int place_by_class(const struct place_host *h, unsigned *to);
int place_by_number(const struct place_host *h, unsigned *to);
int place_by_rate(const struct place_host *h, unsigned *to);

/*
 * place_assign.c: write WANT[d], the part that domain d takes: parts of domains that are equal
 * change places where fewer cores move. COST[part][domain]: cores that move.
 */
void place_assign(const struct place_host *h, unsigned cost[PLACE_DOMAINS_MAX][PLACE_DOMAINS_MAX],
		  const bool exchangeable[PLACE_DOMAINS_MAX], unsigned *want);

#endif
