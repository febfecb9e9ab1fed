/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_PLACEMENT_PLACE_IMPL_H
#define NODEOS_PLACEMENT_PLACE_IMPL_H

#include "placement/place.h"

/* What place.c and its policies share; others include place.h. */

/* place_layout.c: a layout, to which units are added one after the other. */
struct layout {
	const struct place_host *host;
	unsigned room[PLACE_DOMAINS_MAX]; /* free cores of each domain */
	unsigned load[PLACE_DOMAINS_MAX]; /* cores of the units in each domain so far */
	unsigned laid; /* number of units so far */
};

/* Begin a layout: the cores that fixed units leave are free. */
void layout_begin(struct layout *l, const struct place_host *h);

/* Add a fixed unit to the load of its own domain. layout_begin() has taken its cores already. */
void layout_count(struct layout *l, const struct place_unit *u);

/* Add a unit of CORES cores. Returns the domain for it, by load and snake order, or -1 if it fits
 * into none. */
int layout_add(struct layout *l, unsigned cores);

#define PLACE_CLASSES 3 /* classes in the layout's order: devils, semi-devils, turtles */

/*
 * The units of one class and width (number of cores) that can move; each of them may have any place
 * of the group.
 */
struct place_group {
	unsigned class; /* position of its class in the layout's order; 0 is placed first */
	unsigned cores;
	unsigned first, n; /* its units in the policy's order: index of the first, and number */
	unsigned quota[PLACE_DOMAINS_MAX]; /* number of its places in each part of the layout */
	unsigned present[PLACE_DOMAINS_MAX]; /* number of its units in each domain now */
	unsigned places[PLACE_DOMAINS_MAX]; /* number of its units in each domain afterwards */
};

/* place_even.c: the layout of all groups, to be compared with their present places. */
struct place_even {
	const struct place_host *host;
	struct place_group *group;
	unsigned n;
	/* [class][d]: cores in domain d of the fixed units of this class */
	unsigned fixed[PLACE_CLASSES][PLACE_DOMAINS_MAX];
};

/*
 * Lower the number of moves: change the places of E's groups so that the rule on moves in place.h
 * holds.
 */
void place_leave_out(struct place_even *e);

/* The policies: dino and spread, in place_by_class.c; di, in place_by_rate.c. */
int place_by_class(const struct place_host *h, unsigned *to);
int place_by_number(const struct place_host *h, unsigned *to);
int place_by_rate(const struct place_host *h, unsigned *to);

/*
 * place_assign.c: write to WANT[d] the part of the layout that domain d takes. Parts of equal
 * domains that are both EXCHANGEABLE are exchanged if fewer cores move then. COST[part][domain] is
 * the number of cores that move if the domain takes the part.
 */
void place_assign(const struct place_host *h, unsigned cost[PLACE_DOMAINS_MAX][PLACE_DOMAINS_MAX],
		  const bool exchangeable[PLACE_DOMAINS_MAX], unsigned *want);

#endif
