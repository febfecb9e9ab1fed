// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Assigns the parts of a layout to domains at the least cost: the assignment problem, solved by
 * shortest augmenting paths with potentials (Kuhn, Munkres; Jonker and Volgenant). Written here
 * because no library of Debian has it for C.
 */
#include <limits.h>
#include <string.h>

#include "placement/place_impl.h"

#define FORBIDDEN (INT_MAX / 4)

struct assignment {
	unsigned n;
	const int (*cost)[PLACE_DOMAINS_MAX];
	/* indexes count from 1; the search begins at domain 0, which does not exist */
	int part_price[PLACE_DOMAINS_MAX + 1], domain_price[PLACE_DOMAINS_MAX + 1];
	unsigned part_of[PLACE_DOMAINS_MAX + 1]; /* the part of each domain; 0: none yet */
};

/* Make one step of the search, from domain AT: lower the distances, and return the nearest
 * domain. */
static unsigned nearest_domain(struct assignment *a, unsigned at, bool *seen, int *distance,
			       unsigned *before)
{
	unsigned part = a->part_of[at], best = 0;
	int least = INT_MAX;

	seen[at] = true;
	for (unsigned d = 1; d <= a->n; d++) {
		int c;

		if (seen[d])
			continue;
		c = a->cost[part - 1][d - 1] - a->part_price[part] - a->domain_price[d];
		if (c < distance[d]) {
			distance[d] = c;
			before[d] = at;
		}
		if (distance[d] < least) {
			least = distance[d];
			best = d;
		}
	}
	for (unsigned d = 0; d <= a->n; d++) {
		if (seen[d]) {
			a->part_price[a->part_of[d]] += least;
			a->domain_price[d] -= least;
		} else {
			distance[d] -= least;
		}
	}
	return best;
}

static void assign_part(struct assignment *a, unsigned part)
{
	bool seen[PLACE_DOMAINS_MAX + 1] = { false };
	int distance[PLACE_DOMAINS_MAX + 1];
	unsigned before[PLACE_DOMAINS_MAX + 1] = { 0 }, at = 0;

	for (unsigned d = 0; d <= a->n; d++)
		distance[d] = INT_MAX;
	a->part_of[0] = part;
	do
		at = nearest_domain(a, at, seen, distance, before);
	while (a->part_of[at] != 0);
	for (; at != 0; at = before[at])
		a->part_of[at] = a->part_of[before[at]];
}

void place_assign(const struct place_host *h, unsigned cost[PLACE_DOMAINS_MAX][PLACE_DOMAINS_MAX],
		  const bool exchangeable[PLACE_DOMAINS_MAX], unsigned *want)
{
	int allowed[PLACE_DOMAINS_MAX][PLACE_DOMAINS_MAX];
	struct assignment a = { .n = h->n_domains, .cost = allowed };

	for (unsigned part = 0; part < a.n; part++)
		for (unsigned d = 0; d < a.n; d++) {
			bool may = part == d || (exchangeable[part] && exchangeable[d] &&
						 h->cores[part] == h->cores[d]);

			/*
			 * "+ 1" for the part of another domain: at equal cost a domain keeps its
			 * own part
			 */
			allowed[part][d] = may ? (int)(2 * a.n * cost[part][d] + (part != d))
					       : FORBIDDEN;
		}
	for (unsigned part = 1; part <= a.n; part++)
		assign_part(&a, part);
	for (unsigned d = 0; d < a.n; d++)
		want[d] = a.part_of[d + 1] - 1;
}
