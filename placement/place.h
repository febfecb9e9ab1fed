/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_PLACEMENT_PLACE_H
#define NODEOS_PLACEMENT_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "counters/classify.h"

/*
 * Placement chooses a domain (the CPUs of one last-level cache) for each rank of a container. Pure:
 * no system call, no clock; the caller decides when ranks are placed, and whether a move is worth
 * its cost. The source is the scheduler of Clavis 6.5.5 (DINO; Blagodurov, Zhuravlev, Fedorova),
 * with three additions: ranks of several cores, ranks that cannot move, and domains that exchange
 * their parts of the layout if fewer cores move then.
 */
#define PLACE_DOMAINS_MAX 64

/* A unit moves as a whole: it is a rank with all its cores, or ranks that share cores. */
struct place_unit {
	enum rank_class class; /* the class for placement; unknown counts as turtle */
	uint32_t rate; /* in the unit of classify.h; the policy di sorts by it */
	unsigned cores; /* at least 1 */
	unsigned domain; /* the domain that it is in now */
	bool fixed; /* the unit stays: its user has bound it, or its domain cannot change */
};

struct place_host {
	unsigned n_domains; /* 1 to PLACE_DOMAINS_MAX */
	unsigned cores[PLACE_DOMAINS_MAX]; /* cores that the container has in each domain */
	unsigned n;
	/* n entries; the units of a domain fit into the domain's cores */
	const struct place_unit *unit;
};

/* A policy of placement: a row of the table in place.c. */
struct place_policy {
	const char *name;
	/*
	 * Write the domain of each unit to TO. Returns 0. Returns -1, with TO undefined, if it
	 * finds no way in which units of several widths fit, or if memory is exhausted.
	 */
	int (*place)(const struct place_host *h, unsigned *to);
};

/* The policy NAME: "dino", "di", "spread" or "none"; NULL: there is no such policy. */
const struct place_policy *place_policy_find(const char *name);

/* The names of all policies, separated by ", ", for messages. */
extern const char place_policy_names[];

/*
 * Write the domain that each unit of H should have to TO. Returns how many units change their
 * domain, or -1 with the reason in ERR; TO then has the present domains. The policy dino:
 *  - Units are laid out by class, devils first. Each goes to the domain in which the units before
 *    it have the fewest cores; of several such domains, to the first in snake order (first to last,
 *    then back). If all units have one core and none is fixed, any two domains differ by at most
 *    one in their number of devils, and by at most one in their number of devils and semi-devils
 *    together.
 *  - Among domains of equal size and without fixed units the parts of the layout are exchanged so
 *    that the fewest cores move.
 *  - Nothing moves if the present placement is as even as this layout. To compare two placements,
 *    the cores of devils in each domain are squared and added up: the smaller sum is more even. If
 *    both sums are equal, those for devils and semi-devils together are compared; then those for
 *    all units. Fixed units count.
 *  - Otherwise a move is left out if the placement without it fits and is as even. Two moves of
 *    units of different class or width that exchange their domains are left out in the same way. So
 *    each move makes the placement more even, and the result is at least as even as the layout.
 *  - A unit stays in its domain if the domain's part of the layout has a place of its class and
 *    width; if there are more such units than places, the first ones stay. So two units of one
 *    class and width never exchange their places.
 * A second call, with TO as the present domains, moves nothing.
 */
int place_units(const struct place_policy *p, const struct place_host *h, unsigned *to,
		struct errbuf *err);

#endif
