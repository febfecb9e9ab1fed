/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_FIT_H
#define NODEOS_TOPOLOGY_FIT_H

/* Exact choice of one container's cores. For the files of topology/ only. */

#include "topology/machine_impl.h"

/* A free core. Candidates are in logical order. */
struct fit_core {
	unsigned core; /* index in the machine */
	unsigned threads; /* free threads, >= 1: all of them are reserved if the core is taken */
	unsigned width; /* threads of the core that the request would use, 1 .. threads */
	bool half; /* some of its threads may not be given to containers */
};

struct fit_in {
	const struct machine *m;
	const struct fit_core *core;
	unsigned n;
	/* sum of widths to reach, >= 1 */
	unsigned need;
	bool thrift; /* order of the rules: avoiding waste comes before locality */
	unsigned kind; /* use only cores of this CPU kind; NONE: of all kinds */
	/* free memory (nodes or bytes) of each domain and each core: more is better; or NULL */
	const int64_t *domain_memory, *core_memory;
};

/*
 * The cost of a set of cores (smaller is better), compared in this order:
 *  locality first: place, mixed, memory, given, waste, fit
 *  thrift:         given, waste, place, mixed, memory, fit
 * Of two sets with the same cost, the better one has the lowest core that is in only one of them.
 */
struct fit_key {
	int64_t place; /* half cores, packages, NUMA localities, L3 domains (15 bits each) */
	int64_t memory; /* minus the free memory of the used domains */
	int64_t waste; /* threads reserved, cores (20 bits each) */
	/* free cores of the used packages, localities, L3 domains (20 bits each) */
	int64_t fit;
	unsigned given; /* sum of widths; 0: no set is large enough */
	bool mixed; /* the set has cores of several CPU kinds */
};

struct fit_out {
	struct fit_key key;
	bool *take; /* fit_in.n flags */
	/*
	 * For each domain, the key of its best set; GIVEN is 0 if no set is large enough. Keys
	 * include the prices of the domains around, so keys of domains can be compared.
	 */
	struct fit_key *best;
};

/*
 * Find the best set. Returns 1 with *OUT filled (free it with fit_free()), 0 if the cores of
 * IN->kind have too few threads, or -1 if out of memory.
 */
int fit_cores(const struct fit_in *in, struct fit_out *out);
/* Like fit_cores(), but search each CPU kind alone, and mixed kinds. Changes IN->kind. */
int fit_kinds(struct fit_in *in, struct fit_out *best);
void fit_free(struct fit_out *out);

/*
 * Find the first rule by which A and B differ, or FIT_EQUAL if they have the same cost. *CMP (CMP
 * may be NULL) is < 0 if A is better.
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
