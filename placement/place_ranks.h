/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_PLACEMENT_PLACE_RANKS_H
#define NODEOS_PLACEMENT_PLACE_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "placement/place.h"

/*
 * New CPUs for the ranks of a container, made from a placement of their cores over the domains
 * (place.h). Makes no system calls.
 */
struct place_rank {
	struct idset cpus; /* CPUs that it has now */
	enum rank_class class; /* the class for placement */
	uint32_t rate; /* in the unit of classify.h */
	/* the rank stays: its user has bound it, it has just moved, or its policy is hpc:topo */
	bool fixed;
};

struct place_ask {
	unsigned n_cores; /* cores of the container, in logical order */
	const struct idset *core; /* the CPUs of each core */
	unsigned n_domains; /* domains of the host */
	const struct idset *domain; /* the CPUs of each domain */
	unsigned n;
	const struct place_rank *rank;
};

/* Whether ranks move, or why none does. */
enum place_reason {
	PLACE_MOVES, /* at least one rank moves */
	PLACE_RIGHT, /* each rank is in a domain that suits it */
	PLACE_ONE_DOMAIN, /* the container has cores of one domain only */
	PLACE_NONE_APART, /* no rank can move: each is fixed, or its cores are not of one domain */
	PLACE_NO_FIT, /* no other placement was found in which ranks of several widths fit */
	PLACE_NO_MEMORY,
};

/* A clause for reports, such as "nothing to do: one domain". */
const char *place_reason_text(enum place_reason reason);

/*
 * Write the new CPUs of each rank to NEXT[0..n-1], and the number of ranks whose CPUs change to
 * *MOVED.
 *  - Ranks that share a core move together, as one unit with the worst of their classes.
 *  - A unit with cores of several domains, or with CPUs outside of the container, stays, and no
 *    other unit is given its cores.
 *  - A rank that has the k-th CPU of a core is given the k-th CPU of the new core.
 * If nothing moves, NEXT has the present CPUs.
 */
enum place_reason place_ranks(const struct place_policy *p, const struct place_ask *a,
			      struct idset *next, unsigned *moved);

#endif
