/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_FIT_H
#define NODEOS_TOPOLOGY_FIT_H

/* The exact chooser of one container's cores; for the files of this room only. */

#include "topology/machine_impl.h"

/* A free core. Candidates are in logical order. */
struct fit_core {
	unsigned core; /* index in the machine */
	unsigned threads; /* free threads: what taking the core reserves, >= 1 */
	unsigned width; /* threads of the core that this request would use, 1 .. threads */
	bool half; /* some of its threads may not be given to containers */
};

struct fit_in {
	const struct machine *m;
	const struct fit_core *core;
	unsigned n;
	/* sum of widths to reach, >= 1; the caller ensures that there are enough */
	unsigned need;
	bool thrift; /* waste nothing first, locality second */
	unsigned kind; /* only cores of this CPU kind, or NONE */
	/* untaken memory (nodes or bytes) per domain and per core; more is better; or NULL */
	const int64_t *domain_memory, *core_memory;
};

/*
 * The cost of a set of cores (smaller is better), compared in this order:
 *  locality first: place, mixed, memory, given, waste, fit
 *  thrift:         given, waste, place, mixed, memory, fit
 * Of equal sets, the better one has the lowest core that is in only one of the two.
 */
struct fit_key {
	int64_t place; /* half cores, packages, NUMA localities, L3 domains (15 bits each) */
	int64_t memory; /* the negated untaken memory of the used domains */
	int64_t waste; /* threads reserved, cores (20 bits each) */
	/* free cores of the used packages, localities, L3 domains (20 bits each) */
	int64_t fit;
	unsigned given; /* sum of widths; 0: no set satisfies the request */
	bool mixed; /* CPU kinds are mixed */
};

struct fit_out {
	struct fit_key key;
	bool *take; /* fit_in.n flags */
	/* Per domain of the machine, the key of the best set inside it (given 0: none), with the
	 * price of the domains around it, so that keys of different domains compare as whole sets
	 * do. */
	struct fit_key *best;
};

/*
 * Find the best set. Returns 1 with *OUT filled (free with fit_free()), 0 when there are too few
 * cores of that kind, -1 if out of memory.
 */
int fit_cores(const struct fit_in *in, struct fit_out *out);
/* As fit_cores(), for each CPU kind alone and for all together; sets IN->kind. In fit_kinds.c. */
int fit_kinds(struct fit_in *in, struct fit_out *best);
void fit_free(struct fit_out *out);

/*
 * Find the first component in which A and B differ. Returns its number in the list below, or 0 when
 * they are equal; *CMP (may be NULL) is < 0 when A is better.
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
