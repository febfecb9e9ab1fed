/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses cores on machines with several kinds of CPUs. */
#include "topology/fit.h"

/* Return whether A has the lowest core that is in only one of A and B. */
static bool fit_kinds_lower(const struct fit_out *a, const struct fit_out *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (a->take[i] != b->take[i])
			return a->take[i];
	return false;
}

/*
 * For each domain, keep in INTO the better of the two sets. The explanation compares the best sets
 * of the domains, which may come from different searches.
 */
static void fit_kinds_merge(struct fit_out *into, const struct fit_out *from,
			    const struct fit_in *in)
{
	for (unsigned d = 0; d < in->m->n_domains; d++) {
		int cmp = -1;

		if (!from->best[d].given)
			continue;
		if (into->best[d].given)
			fit_compare(&from->best[d], &into->best[d], in->thrift, &cmp);
		if (cmp < 0)
			into->best[d] = from->best[d];
	}
}

/*
 * Search each CPU kind separately, then all kinds together. A single search does not do: it adds
 * the prices of cores, and the price of mixed kinds is not a sum over cores.
 */
int fit_kinds(struct fit_in *in, struct fit_out *best)
{
	int rc;

	in->kind = NONE;
	rc = fit_cores(in, best);
	for (unsigned kind = 0; rc == 1 && in->m->n_kinds > 1 && kind < in->m->n_kinds; kind++) {
		struct fit_out other;
		enum fit_rule rule;
		int cmp = 0;

		in->kind = kind;
		rc = fit_cores(in, &other);
		if (rc < 0)
			break;
		if (rc == 0) {
			rc = 1;
			continue;
		}
		fit_kinds_merge(best, &other, in);
		rule = fit_compare(&other.key, &best->key, in->thrift, &cmp);
		if (cmp < 0 || (rule == FIT_EQUAL && fit_kinds_lower(&other, best, in->n))) {
			bool *take = best->take;

			best->key = other.key;
			best->take = other.take;
			other.take = take;
		}
		fit_free(&other);
	}
	if (rc < 0)
		fit_free(best);
	return rc;
}
