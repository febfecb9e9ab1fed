/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks the requests, orders the containers and makes the plan, by the rules of doc/planner.md. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "topology/plan.h"

#include <stdlib.h>
#include <string.h>

#include "topology/plan_impl.h"

static int check_subset(const struct idset *part, const struct idset *all, const char *what,
			struct errbuf *err)
{
	struct idset extra = *part;
	char list[64];

	idset_andnot(&extra, all);
	if (idset_empty(&extra))
		return 0;
	if (idset_format(&extra, list, sizeof(list)) < 0)
		snprintf(list, sizeof(list), "%d and %u more", idset_next(&extra, -1),
			 idset_count(&extra) - 1);
	return errprintf(err, "this machine has no %s %s", what, list);
}

static int plan_check(const struct planner *p, struct errbuf *err)
{
	const struct plan_ask *rest = NULL;

	if (check_subset(&p->opts->cpus, &p->m->all_cpus, "CPU", err) < 0 ||
	    check_subset(&p->opts->mems, &p->m->all_mems, "memory node", err) < 0)
		return -1;
	if (p->n && idset_empty(&p->opts->cpus))
		return errcode(err, PLAN_NO_OFFER, "there is no CPU to give to containers");
	if (p->n && idset_empty(&p->mems))
		return errcode(err, PLAN_NO_OFFER, "there is no memory node to give to containers");
	for (unsigned i = 0; i < p->n; i++) {
		const struct plan_ask *ask = &p->ask[i];

		if (ask->mems_kind == MEMS_WANTS ? ask->n_wants == 0
						 : ask->mems_kind != MEMS_UNSET && ask->mems == 0)
			return errcode(err, PLAN_BAD_ASK,
				       "container %.64s: mems=0 is not allowed: it needs at least "
				       "one memory node",
				       ask->name);
		if (ask->cpus)
			continue;
		if (rest)
			return errcode(err, PLAN_BAD_ASK,
				       "containers %.64s and %.64s both request every core that is "
				       "left (cpus=0): only one container may do so",
				       rest->name, ask->name);
		rest = ask;
	}
	return 0;
}

static int index_cores(struct planner *p, struct errbuf *err)
{
	const struct machine *m = p->m;

	p->core = calloc(m->n_cores, sizeof(*p->core));
	p->draft = calloc(p->n ? p->n : 1, sizeof(*p->draft));
	if (!p->core || !p->draft)
		return errprintf(err, "out of memory");
	for (unsigned c = 0; c < m->n_cores; c++) {
		struct own_core *own = &p->core[c];

		for (unsigned i = 0; i < m->core[c].n_pus; i++)
			own->threads += idset_has(&p->opts->cpus, m->pu[m->core[c].first_pu + i]);
		own->half = own->threads < m->core[c].n_complete;
	}
	for (unsigned i = 0; i < p->n; i++) {
		p->draft[i].core = calloc(m->n_cores, sizeof(*p->draft[i].core));
		if (!p->draft[i].core)
			return errprintf(err, "out of memory");
	}
	return 0;
}

/* Return the largest number of threads that the plan may use of one core; at least 1. */
static unsigned find_widest(const struct planner *p)
{
	unsigned widest = 1;

	for (unsigned c = 0; c < p->m->n_cores; c++)
		if (p->core[c].threads > widest)
			widest = p->core[c].threads;
	return widest;
}

/* Return how many cores ASK needs if each core has THREADS threads. */
static unsigned plan_size_of(const struct plan_ask *ask, unsigned threads)
{
	const unsigned width = plan_width(ask, threads);

	return ask->cpus / width + (ask->cpus % width != 0);
}

/*
 * Order the requests, 64 at most: the largest first, and the request for all remaining cores last.
 * Requests of equal size keep their order. Returns a malloc'ed array, or NULL if out of memory.
 */
static int *order_asks(const struct planner *p)
{
	int *order = calloc(p->n ? p->n : 1, sizeof(*order));
	unsigned *size = calloc(p->n ? p->n : 1, sizeof(*size));
	const unsigned widest = find_widest(p);

	for (unsigned i = 0; order && size && i < p->n; i++) {
		unsigned at = i;

		size[i] = plan_size_of(&p->ask[i], widest);
		for (; at > 0 && size[order[at - 1]] < size[i]; at--)
			order[at] = order[at - 1];
		order[at] = (int)i;
	}
	if (!size) {
		free(order);
		order = NULL;
	}
	free(size);
	return order;
}

static int draft_reset(struct planner *p, struct errbuf *err)
{
	p->mems_used = p->opts->mems_taken;
	idset_and(&p->mems_used, &p->mems);
	for (unsigned c = 0; c < p->m->n_cores; c++)
		p->core[c].taken = false;
	for (unsigned i = 0; i < p->n; i++) {
		struct draft *d = &p->draft[i];

		if (d->why)
			fclose(d->why);
		free(d->text);
		d->text = NULL;
		memset(&d->c, 0, sizeof(d->c));
		memset(d->core, 0, p->m->n_cores * sizeof(*d->core));
		d->n_cores = 0;
		d->why = open_memstream(&d->text, &d->text_len);
		if (!d->why)
			return errprintf(err, "out of memory");
	}
	return 0;
}

/*
 * Place all containers in ORDER. A container that requests memory gets it right after its cores.
 * Containers that request none get memory last, so that they do not take nodes that a smaller
 * container requests.
 */
static enum placing place_all(struct planner *p, const int *order, struct errbuf *err)
{
	if (draft_reset(p, err) < 0)
		return FAILED;
	for (unsigned k = 0; k < p->n; k++) {
		unsigned i = (unsigned)order[k];
		enum placing rc = plan_cores(p, i, err);

		if (rc != PLACED)
			return rc;
		if (p->ask[i].mems_kind != MEMS_UNSET && plan_mems(p, i, err) < 0)
			return FAILED;
	}
	for (unsigned k = 0; k < p->n; k++)
		if (p->ask[order[k]].mems_kind == MEMS_UNSET &&
		    plan_mems(p, (unsigned)order[k], err) < 0)
			return FAILED;
	return PLACED;
}

/*
 * Place all containers; locality comes before avoiding waste. On uneven cores (offline threads,
 * mixed kinds), this can leave too few threads for a later container. Then place all again;
 * avoiding waste comes before locality.
 */
static int plan_place(struct planner *p, struct errbuf *err)
{
	int *order = order_asks(p);
	enum placing rc;

	if (!order)
		return errprintf(err, "out of memory");
	rc = place_all(p, order, err);
	if (rc == TOO_FEW_CPUS) {
		struct errbuf second = { 0 };

		p->thrift = true;
		rc = place_all(p, order, &second);
		if (rc == FAILED)
			errcopy(err, &second);
	}
	free(order);
	return rc == PLACED ? 0 : -1;
}

/* Set mems_shared of confined containers that share a node with another container or job. */
static void plan_mark_shared(struct planner *p)
{
	for (unsigned i = 0; i < p->n; i++) {
		struct plan_container *c = &p->draft[i].c;

		c->mems_shared = c->mems_confined &&
				 idset_intersects(&c->mems, &p->opts->mems_taken);
		for (unsigned j = 0; c->mems_confined && j < p->n; j++)
			c->mems_shared |= j != i && p->draft[j].c.mems_confined &&
					  idset_intersects(&c->mems, &p->draft[j].c.mems);
	}
}

/* Move the drafts into a new plan, *OUT. Returns 0, or -1 if out of memory. */
static int finish_plan(struct plan **out, struct planner *p, struct errbuf *err)
{
	struct plan *plan = calloc(1, sizeof(*plan));

	if (plan)
		plan->container = calloc(p->n ? p->n : 1, sizeof(*plan->container));
	if (!plan || !plan->container) {
		plan_free(plan);
		return errprintf(err, "out of memory");
	}
	plan_mark_shared(p);
	plan->n = p->n;
	plan->free_cpus = p->opts->cpus;
	plan->free_mems = p->mems;
	idset_andnot(&plan->free_mems, &p->mems_used);
	for (unsigned i = 0; i < p->n; i++) {
		struct draft *d = &p->draft[i];
		int failed = ferror(d->why);

		failed |= fclose(d->why);
		d->why = NULL;
		plan->container[i] = d->c;
		plan->container[i].why = d->text;
		d->text = NULL;
		idset_andnot(&plan->free_cpus, &d->c.reserved);
		if (!failed)
			continue;
		plan_free(plan);
		return errprintf(err, "out of memory");
	}
	*out = plan;
	return 0;
}

int plan_make(struct plan **out, const struct machine *m, const struct plan_opts *opts,
	      const struct plan_ask *ask, unsigned n, struct errbuf *err)
{
	struct planner p = { .m = m, .opts = opts, .ask = ask, .n = n };
	int rc = -1;

	p.mems = opts->mems;
	idset_andnot(&p.mems, &m->empty);
	p.ordinary = p.mems;
	idset_and(&p.ordinary, &m->ordinary);
	if (plan_check(&p, err) == 0 && index_cores(&p, err) == 0 && plan_place(&p, err) == 0)
		rc = finish_plan(out, &p, err);
	for (unsigned i = 0; p.draft && i < n; i++) {
		if (p.draft[i].why)
			fclose(p.draft[i].why);
		free(p.draft[i].text);
		free(p.draft[i].core);
	}
	free(p.draft);
	free(p.core);
	return rc;
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	for (unsigned i = 0; p->container && i < p->n; i++)
		free(p->container[i].why);
	free(p->container);
	free(p);
}
