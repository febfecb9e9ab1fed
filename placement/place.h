/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_PLACEMENT_PLACE_H
#define NODEOS_PLACEMENT_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "counters/classify.h"

/*
 * Which domain (CPUs of one last-level cache) each rank of a container should have. Pure: no system
 * call, no clock; whoever calls decides when to look and what a move costs. Source: the scheduler
 * of Clavis 6.5.5 (DINO; Blagodurov, Zhuravlev, Fedorova), with three additions: ranks of several
 * cores, ranks that cannot move, and domains that may change their parts in the layout when fewer
 * ranks move then.
 */
#define PLACE_DOMAINS_MAX 64

/* What moves as a whole: a rank with all its cores. */
struct place_unit {
	enum rank_class class; /* for placement; unknown counts as turtle */
	uint32_t rate; /* as classify.h has it; the policy di sorts by it */
	unsigned cores; /* 1 at least */
	unsigned domain; /* where it is now */
	bool fixed; /* its user has bound it, or its domain cannot change: it counts and stays */
};

struct place_host {
	unsigned n_domains; /* 1 to PLACE_DOMAINS_MAX */
	unsigned cores[PLACE_DOMAINS_MAX]; /* that the container has in each */
	unsigned n;
	const struct place_unit *unit; /* n of them; those of a domain fit into its cores */
};

/* A way to place; a row of a table. */
struct place_policy {
	const char *name;
	/*
	 * Write the domain of each unit to TO. Returns 0, or -1: the units of several widths fit in
	 * no other way that it finds; TO is then undefined.
	 */
	int (*place)(const struct place_host *h, unsigned *to);
};

/* "dino", "di", "spread" or "none"; NULL: no such policy. */
const struct place_policy *place_policy_find(const char *name);

/* The names of all policies, with ", " between them, for messages. */
extern const char place_policy_names[];

/*
 * Write the domain that each unit of H should have to TO. Returns how many units change theirs, or
 * -1 with the reason in ERR, and TO then has where they are. "dino":
 *  - Units are laid out by class, devils first, each in the domain that has the fewest cores of
 *    units before it; ties go in snake order. The numbers of the domains' units of this and worse
 *    classes then differ by one at most, where all units have one core and none is fixed.
 *  - Domains of equal size and without fixed units take the parts of the layout so that the fewest
 *    cores move.
 *  - A unit whose domain has a place of its class and width stays; of several that want it, the
 *    first ones stay. So two units of one class and width never change places.
 * A second call with TO as the domains changes nothing.
 */
int place_units(const struct place_policy *p, const struct place_host *h, unsigned *to,
		struct errbuf *err);

#endif
