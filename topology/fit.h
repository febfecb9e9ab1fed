/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_FIT_H
#define NODEOS_TOPOLOGY_FIT_H

/* The exact chooser of one container's cores; for the files of this room only. */

#include "topology/machine_impl.h"

/* A free core, the candidates being in logical order. */
struct fit_core {
	unsigned core; /* index in the machine */
	unsigned threads; /* free threads: what taking the core reserves, >= 1 */
	unsigned width; /* threads that this ask would use of it, 1 .. threads */
	bool half; /* the machine has threads of it that are not ours to give */
};

struct fit_in {
	const struct machine *m;
	const struct fit_core *core;
	unsigned n;
	/* sum of widths to reach, >= 1; the caller made sure that there is enough */
	unsigned need;
	bool thrift; /* waste nothing first, locality second */
	unsigned kind; /* only cores of this CPU kind, or NONE */
	/* Untaken memory (nodes or bytes) per domain and per core, to have much of; or NULL. */
	const int64_t *domain_memory, *core_memory;
};

/*
 * The value of a set of cores, the smaller the better, compared in this order:
 *  locality first: place, mixed, memory, given, waste, fit
 *  thrift:         given, waste, place, mixed, memory, fit
 * then the set that holds the lowest core that only one of the two holds.
 */
struct fit_key {
	int64_t place; /* half cores, packages, NUMA localities, L3 domains (15 bits each) */
	int64_t memory; /* minus the untaken memory of the domains used */
	int64_t waste; /* threads reserved, cores (20 bits each) */
	/* free cores of the packages, localities, L3 domains used (20 bits each) */
	int64_t fit;
	unsigned given; /* sum of widths; 0: no such set */
	bool mixed; /* CPU kinds are mixed */
};

struct fit_out {
	struct fit_key key;
	bool *take; /* fit_in.n flags */
	/*
	 * Per domain of the machine: of the sets inside it (given 0: none), with the price of the
	 * domains around it, so that keys of different domains compare as whole sets do.
	 */
	struct fit_key *best;
};

/*
 * Find the best set. Returns 1 with *OUT filled (free with fit_free), 0 when
 * the cores of that kind are too few, -1 without memory.
 */
int fit_cores(const struct fit_in *in, struct fit_out *out);
void fit_free(struct fit_out *out);

/*
 * Which component of A and B differs first: its number in the list below, 0 if
 * none does; *CMP (may be NULL) is then < 0 when A is better.
 */
enum fit_rule {
	FIT_EQUAL,
	FIT_HALF,
	FIT_PACKAGE,
	FIT_NUMA,
	FIT_L3,
	FIT_MIXED,
	FIT_MEMORY,
	FIT_GIVEN,
	FIT_WASTE,
	FIT_FIT_PACKAGE,
	FIT_FIT_NUMA,
	FIT_FIT_L3,
	FIT_RULES,
};
enum fit_rule fit_compare(const struct fit_key *a, const struct fit_key *b, bool thrift, int *cmp);

#endif
