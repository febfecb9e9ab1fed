/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_PLACEMENT_PLACE_RANKS_H
#define NODEOS_PLACEMENT_PLACE_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "placement/place.h"

/*
 * New CPUs for the ranks of a container, from a placement of their cores over the domains
 * (place.h). Pure.
 */
struct place_rank {
	struct idset cpus; /* that it has now */
	enum rank_class class; /* for placement */
	uint32_t rate;
	bool fixed; /* must stay: its user has bound it, it has just moved, it is of hpc:topo */
};

struct place_ask {
	unsigned n_cores; /* of the container, in logical order */
	const struct idset *core; /* the CPUs of each */
	unsigned n_domains; /* those of the host */
	const struct idset *domain; /* the CPUs of each */
	unsigned n;
	const struct place_rank *rank;
};

/* The reason why nothing moves; PLACE_MOVES: something does. */
enum place_reason {
	PLACE_MOVES,
	PLACE_RIGHT, /* each rank is in a domain that suits */
	PLACE_ONE_DOMAIN, /* the container has cores of one domain only */
	PLACE_NONE_APART, /* no rank has cores of one domain for itself */
	PLACE_NO_FIT, /* ranks of several widths fit in no other way */
	PLACE_NO_MEMORY,
};

/* A clause for reports: "nothing to do: one domain". */
const char *place_reason_text(enum place_reason reason);

/*
 * Write the new CPUs of each rank to NEXT[0..n-1], and how many ranks change theirs to *MOVED.
 *  - Ranks that share a core move together, as one unit of the worst of their classes.
 *  - A unit with cores of several domains, or with CPUs outside of the container, stays, and no
 *    other gets its cores.
 *  - A rank that had the k-th CPU of a core has the k-th CPU of the new one.
 * Where nothing moves, NEXT has the present CPUs.
 */
enum place_reason place_ranks(const struct place_policy *p, const struct place_ask *a,
			      struct idset *next, unsigned *moved);

#endif
