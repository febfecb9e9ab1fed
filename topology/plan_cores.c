/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One container's cores: list the candidates, choose, take. */
#include <stdlib.h>
#include <string.h>

#include "topology/plan_impl.h"

/* Untaken memory, by the domain or core that it is local to. */
struct local_memory {
	int64_t *domain, *core;
};

static bool node_is_free(const struct planner *p, const struct memnode *n)
{
	return idset_has(&p->ordinary, n->os) && !idset_has(&p->mems_used, n->os);
}

static int sum_memory(const struct planner *p, const struct plan_ask *ask, struct local_memory *mem)
{
	const struct machine *m = p->m;

	mem->domain = calloc(m->n_domains, sizeof(*mem->domain));
	mem->core = calloc(m->n_cores, sizeof(*mem->core));
	if (!mem->domain || !mem->core)
		return -1;
	for (unsigned i = 0; i < m->n_nodes; i++) {
		const struct memnode *n = &m->node[i];

		if (!node_is_free(p, n))
			continue;
		if (n->domain != NONE)
			mem->domain[n->domain] += plan_node_amount(n, ask);
		else if (n->core != NONE)
			mem->core[n->core] += plan_node_amount(n, ask);
	}
	return 0;
}

/* Return whether the untaken nodes local to the cores that FIT takes hold the memory of ASK. */
static bool local_suffices(const struct planner *p, const struct plan_ask *ask,
			   const struct fit_in *in, const struct fit_out *fit)
{
	const struct machine *m = p->m;
	uint64_t sum = 0;

	for (unsigned i = 0; i < m->n_nodes; i++) {
		const struct memnode *n = &m->node[i];
		bool local = false;

		for (unsigned k = 0; k < in->n && node_is_free(p, n); k++)
			local |= fit->take[k] && in->core[k].core >= n->first_core &&
				 in->core[k].core < n->end_core;
		if (local)
			sum += (uint64_t)plan_node_amount(n, ask);
	}
	return sum >= ask->mems;
}

/* Apply rules 1 to 6, the memory rule only if the best set without it has too little memory. */
static int plan_cores_choose(const struct planner *p, const struct plan_ask *ask, struct fit_in *in,
			     struct fit_out *fit)
{
	struct local_memory mem = { 0 };
	int rc = fit_kinds(in, fit);

	if (rc <= 0 || ask->mems_kind == MEMS_UNSET || local_suffices(p, ask, in, fit))
		return rc;
	fit_free(fit);
	rc = sum_memory(p, ask, &mem);
	if (rc == 0) {
		in->domain_memory = mem.domain;
		in->core_memory = mem.core;
		rc = fit_kinds(in, fit);
		in->domain_memory = in->core_memory = NULL;
	}
	free(mem.domain);
	free(mem.core);
	return rc;
}

static void plan_cores_take(struct planner *p, unsigned i, unsigned core)
{
	const struct core *c = &p->m->core[core];
	struct draft *d = &p->draft[i];
	unsigned left = plan_width(&p->ask[i], p->core[core].threads);

	p->core[core].taken = true;
	d->core[core] = true;
	d->n_cores++;
	for (unsigned k = c->first_pu; k < c->first_pu + c->n_pus; k++) {
		unsigned os = p->m->pu[k];

		if (!idset_has(&p->opts->cpus, os))
			continue;
		idset_add(&d->c.reserved, os);
		if (!left)
			continue;
		idset_add(&d->c.cpus, os);
		left--;
		d->c.cpus_given++;
	}
}

static enum placing plan_cores_too_few(const struct planner *p, const struct plan_ask *ask,
				       unsigned left, struct errbuf *err)
{
	unsigned widest = 1, cores;
	bool first = true;

	for (unsigned c = 0; c < p->m->n_cores; c++) {
		unsigned width = plan_width(ask, p->core[c].threads);

		widest = width > widest ? width : widest;
		first &= !p->core[c].taken;
	}
	cores = ask->cpus / widest + (ask->cpus % widest != 0);
	if (!left)
		errcode(err, PLAN_NO_CPUS,
			"container %.64s: needs %s%u thread%s%s, but the containers planned "
			"before it left none free",
			ask->name, ask->cpus ? "" : "at least ", ask->cpus ? ask->cpus : 1,
			ask->cpus > 1 ? "s" : "",
			ask->cpus ? "" : " (cpus=0 requests every core that is left)");
	else
		errcode(err, PLAN_NO_CPUS,
			"container %.64s: needs %u thread%s (%u core%s), %u %s free here%s; the "
			"largest request that fits now is cpus=%u",
			ask->name, ask->cpus, ask->cpus > 1 ? "s" : "", cores, cores > 1 ? "s" : "",
			left, left > 1 ? "are" : "is", first ? "" : " beside the larger containers",
			left);
	return TOO_FEW_CPUS;
}

/*
 * Take the cores of request I, packed as FIT, or spread where the request says so or needs it, and
 * explain them. -1: out of memory.
 */
static int plan_cores_place(struct planner *p, unsigned i, const struct fit_in *in,
			    const struct fit_out *fit)
{
	const struct plan_ask *ask = &p->ask[i];
	const bool by_need = plan_needs_spread(p, ask, in, fit->take);
	const bool spread = by_need || ask->placement > PLACEMENT_PACK;
	const enum level level = by_need  ? LEVEL_NUMA
				 : spread ? plan_spread_level(in, ask->placement)
					  : plan_spread_level(in, PLACEMENT_SPREAD);
	bool *other = NULL;
	const bool *take = fit->take;

	if (spread || ask->placement == PLACEMENT_PACK) {
		other = calloc(in->n, sizeof(*other));
		if (!other || plan_spread(in, level, other) < 0) {
			free(other);
			return -1;
		}
	}
	if (spread)
		take = other;
	for (unsigned k = 0; k < in->n; k++)
		if (take[k])
			plan_cores_take(p, i, in->core[k].core);
	plan_explain_cores(p, i, in, spread ? NULL : fit);
	if (other)
		plan_explain_placement(p, i, in,
				       &(struct placement_choice){ take, spread ? fit->take : other,
								   level, spread });
	free(other);
	return 0;
}

enum placing plan_cores(struct planner *p, unsigned i, struct errbuf *err)
{
	const struct plan_ask *ask = &p->ask[i];
	struct fit_in in = { .m = p->m, .need = ask->cpus, .thrift = p->thrift, .kind = NONE };
	struct fit_core *list = calloc(p->m->n_cores, sizeof(*list));
	struct fit_out fit = { 0 };
	unsigned sum = 0;
	enum placing rc = PLACED;

	if (!list) {
		errprintf(err, "out of memory");
		return FAILED;
	}
	for (unsigned c = 0; c < p->m->n_cores; c++) {
		const struct own_core *own = &p->core[c];

		if (!own->threads || own->taken)
			continue;
		list[in.n].core = c;
		list[in.n].threads = own->threads;
		list[in.n].half = own->half;
		list[in.n].width = plan_width(ask, own->threads);
		sum += list[in.n++].width;
	}
	in.core = list;
	p->draft[i].c.cpus_asked = ask->cpus;
	if (sum < ask->cpus || sum == 0) {
		rc = plan_cores_too_few(p, ask, sum, err);
	} else if (!ask->cpus) {
		for (unsigned k = 0; k < in.n; k++)
			plan_cores_take(p, i, list[k].core);
		plan_explain_cores(p, i, &in, NULL);
	} else if (plan_cores_choose(p, ask, &in, &fit) <= 0 ||
		   plan_cores_place(p, i, &in, &fit) < 0) {
		errprintf(err, "out of memory");
		rc = FAILED;
	}
	fit_free(&fit);
	free(list);
	return rc;
}
