/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobplan/apart.h"

#include <stdlib.h>
#include <string.h>

#include "topology/machine.h"

struct apart_work {
	const struct machine *m;
	const struct plan_ask *ask;
	unsigned n;
	struct plan_opts left; /* what the next container may get */
	struct idset *domain; /* N_DOMAINS sets, the smallest first */
	unsigned n_domains;
	struct idset avoid; /* domains with containers that had devils */
	struct plan *made;
};

static int compare_sizes(const void *a, const void *b)
{
	unsigned x = idset_count(a), y = idset_count(b);

	return (x > y) - (x < y);
}

/* Add the smallest domain of each of CPUS to those that are avoided. */
static void apart_avoid(struct apart_work *w, const struct idset *cpus)
{
	struct idset rest = *cpus;

	for (unsigned i = 0; i < w->n_domains; i++)
		if (idset_intersects(&w->domain[i], &rest)) {
			idset_or(&w->avoid, &w->domain[i]);
			idset_andnot(&rest, &w->domain[i]);
		}
}

/* Append LINE to the explanation of C. Returns 0, or -1: out of memory. */
static int apart_explain(struct plan_container *c, const char *line)
{
	size_t used = c->why ? strlen(c->why) : 0;
	char *why = realloc(c->why, used + strlen(line) + 2);

	if (!why)
		return -1;
	c->why = why;
	if (used)
		why[used++] = '\n';
	strcpy(why + used, line);
	return 0;
}

/* Move container K of P, which the caller frees, to index I of the new plan. */
static void apart_keep(struct apart_work *w, unsigned i, struct plan *p, unsigned k)
{
	w->made->container[i] = p->container[k];
	p->container[k].why = NULL;
}

/* Plan request I alone. Returns 0; -1: it does not fit, or out of memory. */
static int apart_plan_one(struct apart_work *w, unsigned i)
{
	struct plan_container *c = &w->made->container[i];
	struct plan_opts away = w->left;
	struct errbuf ignored;
	struct plan *p;
	bool found;

	idset_andnot(&away.cpus, &w->avoid);
	found = plan_make(&p, w->m, &away, &w->ask[i], 1, &ignored) == 0;
	if (!found && plan_make(&p, w->m, &w->left, &w->ask[i], 1, &ignored) < 0)
		return -1;
	apart_keep(w, i, p, 0);
	plan_free(p);
	idset_andnot(&w->left.cpus, &c->reserved);
	if (c->mems_confined)
		idset_or(&w->left.mems_taken, &c->mems);
	apart_avoid(w, &c->cpus);
	return apart_explain(c, found ? "had devils in an earlier step, so it shares no cache with "
					"another such container"
				      : "had devils in an earlier step, but too few cores are free "
					"on caches without another such container");
}

/* Plan the requests of REST (bits) together. Returns 0; -1: they do not fit, or out of memory. */
static int apart_plan_rest(struct apart_work *w, uint64_t rest)
{
	struct plan_ask *ask = calloc(w->n, sizeof(*ask));
	struct plan *p = NULL;
	struct errbuf ignored;
	unsigned n = 0;
	int rc = -1;

	for (unsigned i = 0; ask && i < w->n; i++)
		if (rest >> i & 1)
			ask[n++] = w->ask[i];
	if (ask)
		rc = plan_make(&p, w->m, &w->left, ask, n, &ignored);
	n = 0;
	for (unsigned i = 0; rc == 0 && i < w->n; i++)
		if (rest >> i & 1)
			apart_keep(w, i, p, n++);
	if (rc == 0) {
		w->made->free_cpus = p->free_cpus;
		w->made->free_mems = p->free_mems;
	}
	plan_free(p);
	free(ask);
	return rc;
}

/* Of the requests in SET (bits, not 0), return the first of those with the most CPUs. */
static unsigned apart_largest(const struct plan_ask *ask, uint64_t set)
{
	unsigned best = 64;

	for (unsigned i = 0; i < 64; i++)
		if (set >> i & 1 && (best == 64 || ask[i].cpus > ask[best].cpus))
			best = i;
	return best;
}

static int apart_work(struct apart_work *w, uint64_t devils)
{
	const uint64_t all = w->n < 64 ? (UINT64_C(1) << w->n) - 1 : UINT64_MAX;

	qsort(w->domain, w->n_domains, sizeof(*w->domain), compare_sizes);
	for (uint64_t set = devils; set;) {
		unsigned i = apart_largest(w->ask, set);

		if (apart_plan_one(w, i) < 0)
			return -1;
		set &= ~(UINT64_C(1) << i);
	}
	if (apart_plan_rest(w, all & ~devils) < 0)
		return -1;
	for (unsigned i = 0; i < w->n; i++)
		for (unsigned k = 0; k < w->n; k++) {
			struct plan_container *a = &w->made->container[i],
					      *b = &w->made->container[k];

			a->mems_shared |= i != k && a->mems_confined && b->mems_confined &&
					  idset_intersects(&a->mems, &b->mems);
		}
	return 0;
}

int apart_plan(struct plan **out, const struct machine *m, const struct plan_opts *opts,
	       const struct apart_asks *asks, struct errbuf *err)
{
	struct apart_work w = { .m = m, .ask = asks->ask, .n = asks->n, .left = *opts };
	uint64_t devils = 0;
	bool done = false;

	for (unsigned i = 0; i < w.n && i < 64; i++)
		if (asks->apart->devils >> i & 1 && w.ask[i].cpus &&
		    w.ask[i].placement == PLACEMENT_UNSET)
			devils |= UINT64_C(1) << i;
	if (!devils)
		return plan_make(out, m, opts, w.ask, w.n, err);
	w.made = calloc(1, sizeof(*w.made));
	if (w.made)
		w.made->container = calloc(w.n, sizeof(*w.made->container));
	if (w.made && w.made->container && machine_domains(m, &w.domain, &w.n_domains, err) == 0) {
		w.made->n = w.n;
		apart_avoid(&w, &asks->apart->cpus);
		done = apart_work(&w, devils) == 0;
	}
	free(w.domain);
	if (!done) {
		plan_free(w.made);
		return plan_make(out, m, opts, w.ask, w.n, err);
	}
	*out = w.made;
	return 0;
}
