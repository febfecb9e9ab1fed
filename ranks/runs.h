/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_RANKS_RUNS_H
#define NODEOS_RANKS_RUNS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Divide a row of units (cores, or threads) into runs of neighbours, one for each rank, so that few
 * runs straddle a domain (a cache, a memory node, a package). Without side effects; needs libc
 * only.
 *
 * A run straddles a domain when it has a part of the domain, and units outside of it as well. A run
 * inside a domain, and one of whole domains, straddles none.
 */
struct run {
	uint16_t first, end; /* units first .. end - 1, at least one */
};

struct runs_in {
	unsigned n_units, n_ranks; /* both at least 1 */
	/*
	 * N_DOMAINS runs, sorted by their first unit, the larger first (see runs_sort()); of any
	 * two, one is inside the other, or they are apart
	 */
	unsigned n_domains;
	const struct run *domain;
};

/* Sort the N domains, and remove those that are equal to or overlap an earlier one. Returns the
 * number that is left. */
unsigned runs_sort(struct run *domain, unsigned n);

/*
 * Write to OUT a run of WIDTH neighbours for each rank, in the order of the ranks; there must be at
 * least n_ranks * WIDTH units. Units may stay idle between runs. In the result, the fewest runs
 * straddle; of several such divisions, it is the one whose runs begin at the lowest units. Returns
 * the number of runs that straddle, or -1 when out of memory.
 */
int runs_equal(struct run *out, const struct runs_in *in, unsigned width);

/*
 * Write to OUT a division of all units into runs that straddle no domain and may differ in size;
 * there must be at least as many units as ranks. The rules, in this order: the smallest run is as
 * large as possible; the fewest units are idle; the sum of the squares of the sizes is the least. A
 * row of units outside of all inner domains of a domain counts as one domain. Returns 0, or -1 when
 * out of memory.
 */
int runs_uneven(struct run *out, const struct runs_in *in);

#endif
