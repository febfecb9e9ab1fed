/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses the cores of one container: lists the candidates, chooses, takes. */
#include <stdlib.h>
#include <string.h>

#include "topology/plan_impl.h"

/* Free memory, by the domain or core to which it is local. */
struct local_memory {
	int64_t *domain, *core;
};

/* Write to OUT the nodes that are free and of the kind that WANT names. */
static void plan_cores_free_nodes(const struct planner *p, const struct plan_want *want,
				  struct idset *out)
{
	plan_nodes_of(p, want->kind, out);
	idset_andnot(out, &p->mems_used);
}

/*
 * Return the worth of the free node N for WANT. For ordinary memory, this is the amount of the
 * node. For a named kind, it is the share of WANT that the node alone meets, in thousandths, so
 * that worths of different kinds can be added.
 */
static int64_t node_worth(const struct memnode *n, const struct plan_want *want)
{
	int64_t amount = plan_node_amount(n, &want->ask);

	if (want->kind == PLAN_ORDINARY)
		return amount;
	return (uint64_t)amount >= want->ask.mems ? 1000 : amount * 1000 / (int64_t)want->ask.mems;
}

static int sum_memory(const struct planner *p, const struct plan_ask *ask, struct local_memory *mem)
{
	const struct machine *m = p->m;

	mem->domain = calloc(m->n_domains, sizeof(*mem->domain));
	mem->core = calloc(m->n_cores, sizeof(*mem->core));
	if (!mem->domain || !mem->core)
		return -1;
	for (unsigned w = 0; w < plan_ask_wants(ask); w++) {
		struct plan_want want;
		struct idset free;

		plan_ask_want(ask, w, &want);
		plan_cores_free_nodes(p, &want, &free);
		for (unsigned i = 0; i < m->n_nodes; i++) {
			const struct memnode *n = &m->node[i];

			if (!idset_has(&free, n->os))
				continue;
			if (n->domain != NONE)
				mem->domain[n->domain] += node_worth(n, &want);
			else if (n->core != NONE)
				mem->core[n->core] += node_worth(n, &want);
		}
	}
	return 0;
}

/* Return whether the free nodes that are local to the cores in TAKEN are enough for WANT. */
static bool want_suffices(const struct planner *p, const struct plan_want *want, const bool *taken)
{
	const struct machine *m = p->m;
	struct idset free;
	uint64_t sum = 0;

	plan_cores_free_nodes(p, want, &free);
	for (unsigned i = 0; i < m->n_nodes; i++)
		if (idset_has(&free, m->node[i].os) && plan_node_is_local(&m->node[i], taken))
			sum += (uint64_t)plan_node_amount(&m->node[i], &want->ask);
	return sum >= want->ask.mems;
}

/*
 * Return whether the free nodes that are local to the cores of FIT are enough for the memory of
 * ASK: 1, 0, or -1 if out of memory.
 */
static int local_suffices(const struct planner *p, const struct plan_ask *ask,
			  const struct fit_in *in, const struct fit_out *fit)
{
	bool *taken = calloc(p->m->n_cores, sizeof(*taken));
	int rc = taken ? 1 : -1;

	for (unsigned k = 0; taken && k < in->n; k++)
		taken[in->core[k].core] = fit->take[k];
	for (unsigned w = 0; rc == 1 && w < plan_ask_wants(ask); w++) {
		struct plan_want want;

		plan_ask_want(ask, w, &want);
		rc = want_suffices(p, &want, taken);
	}
	free(taken);
	return rc;
}

/*
 * Choose by rules 1 to 6 of doc/planner.md. The memory rule applies only if the best set without it
 * has too little memory.
 */
static int plan_cores_choose(const struct planner *p, const struct plan_ask *ask, struct fit_in *in,
			     struct fit_out *fit)
{
	struct local_memory mem = { 0 };
	int rc = fit_kinds(in, fit);

	if (rc <= 0 || ask->mems_kind == MEMS_UNSET)
		return rc;
	rc = local_suffices(p, ask, in, fit);
	if (rc > 0)
		return rc;
	fit_free(fit);
	if (rc == 0)
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

/* Return whether ASK may have CORE, by the kind (fast, efficient) that ASK names. */
static bool is_of_word(const struct machine *m, const struct plan_ask *ask, unsigned core)
{
	if (!m->kinds_ranked || ask->cores == CORES_UNSET || ask->cores == CORES_ANY)
		return true;
	return (m->core[core].kind == m->fastest) == (ask->cores == CORES_FAST);
}

/* Append how many threads are free on cores of the other kind than ASK names. */
static void append_other_cores(const struct planner *p, const struct plan_ask *ask,
			       struct errbuf *err)
{
	const bool fast = ask->cores == CORES_FAST;
	unsigned others = 0;

	if (!p->m->kinds_ranked || (!fast && ask->cores != CORES_EFFICIENT))
		return;
	for (unsigned c = 0; c < p->m->n_cores; c++)
		if (!p->core[c].taken && !is_of_word(p->m, ask, c))
			others += plan_width(ask, p->core[c].threads);
	errappend(err, " (%s cores only, as asked; %u thread%s free on %s cores)",
		  cores_word_name(ask->cores), others, others == 1 ? " is" : "s are",
		  cores_word_name(fast ? CORES_EFFICIENT : CORES_FAST));
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
		errcode(err, PLAN_NO_CPUS, "container %.64s: needs %s%u thread%s%s, %s", ask->name,
			ask->cpus ? "" : "at least ", ask->cpus ? ask->cpus : 1,
			ask->cpus > 1 ? "s" : "",
			ask->cpus ? "" : " (cpus=0 requests every core that is left)",
			first ? "none is free here"
			      : "but the containers planned before it left none free");
	else
		errcode(err, PLAN_NO_CPUS,
			"container %.64s: needs %u thread%s (%u core%s), %u %s free here%s; the "
			"largest request that fits now is cpus=%u",
			ask->name, ask->cpus, ask->cpus > 1 ? "s" : "", cores, cores > 1 ? "s" : "",
			left, left > 1 ? "are" : "is", first ? "" : " beside the larger containers",
			left);
	append_other_cores(p, ask, err);
	return TOO_FEW_CPUS;
}

/*
 * Take the cores of request I and explain the choice. The cores are packed, as FIT has them, unless
 * the request names a spread or needs one. Returns -1 if out of memory.
 */
static int plan_cores_place(struct planner *p, unsigned i, const struct fit_in *in,
			    const struct fit_out *fit)
{
	const struct plan_ask *ask = &p->ask[i];
	const bool by_need = plan_needs_spread(p, ask, in, fit->take);
	const bool spread = by_need || ask->placement > PLACEMENT_PACK;
	enum level level = LEVEL_NUMA;
	bool *other = NULL;
	const bool *take = fit->take;
	int rc;

	if (spread || ask->placement == PLACEMENT_PACK) {
		if (!by_need)
			level = plan_spread_level(in, spread ? ask->placement : PLACEMENT_SPREAD);
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
	rc = plan_explain_cores(p, i, in, spread ? NULL : fit);
	if (other)
		plan_explain_placement(p, i, in,
				       &(struct placement_choice){ take, spread ? fit->take : other,
								   level, spread });
	free(other);
	return rc;
}

/* Write to LIST the free cores that ASK may have. Returns the sum of their widths. */
static unsigned list_cores(const struct planner *p, const struct plan_ask *ask, struct fit_in *in,
			   struct fit_core *list)
{
	unsigned sum = 0;

	for (unsigned c = 0; c < p->m->n_cores; c++) {
		const struct own_core *own = &p->core[c];

		if (!own->threads || own->taken || !is_of_word(p->m, ask, c))
			continue;
		list[in->n] = (struct fit_core){ c, own->threads, plan_width(ask, own->threads),
						 own->half };
		sum += list[in->n++].width;
	}
	return sum;
}

/*
 * If ASK names no kind of cores, keep in LIST only the cores of the fastest kind that suffices, if
 * there is one, and if avoiding waste does not come first. Returns whether cores were removed.
 */
static bool prefer_fast(const struct planner *p, const struct plan_ask *ask, struct fit_in *in,
			struct fit_core *list)
{
	const struct machine *m = p->m;
	const unsigned all = in->n;

	if (!m->kinds_ranked || ask->cores != CORES_UNSET || !ask->cpus || p->thrift)
		return false;
	for (unsigned kind = m->fastest + 1; kind-- > 0;) {
		unsigned sum = 0, n = 0;

		for (unsigned k = 0; k < all; k++)
			sum += m->core[list[k].core].kind == kind ? list[k].width : 0;
		if (sum < ask->cpus)
			continue;
		for (unsigned k = 0; k < all; k++)
			if (m->core[list[k].core].kind == kind)
				list[n++] = list[k];
		in->n = n;
		return n < all;
	}
	return false;
}

enum placing plan_cores(struct planner *p, unsigned i, struct errbuf *err)
{
	const struct plan_ask *ask = &p->ask[i];
	struct fit_in in = { .m = p->m, .need = ask->cpus, .thrift = p->thrift, .kind = NONE };
	struct fit_core *list = calloc(p->m->n_cores, sizeof(*list));
	struct fit_out fit = { 0 };
	enum placing rc = PLACED;
	bool fastest = false;
	unsigned sum;

	if (!list) {
		errprintf(err, "out of memory");
		return FAILED;
	}
	sum = list_cores(p, ask, &in, list);
	if (sum >= ask->cpus && sum > 0)
		fastest = prefer_fast(p, ask, &in, list);
	in.core = list;
	p->draft[i].c.cpus_asked = ask->cpus;
	if (sum < ask->cpus || sum == 0) {
		rc = plan_cores_too_few(p, ask, sum, err);
	} else if (!ask->cpus) {
		for (unsigned k = 0; k < in.n; k++)
			plan_cores_take(p, i, list[k].core);
		rc = plan_explain_cores(p, i, &in, NULL) == 0 ? PLACED : FAILED;
	} else if (plan_cores_choose(p, ask, &in, &fit) <= 0 ||
		   plan_cores_place(p, i, &in, &fit) < 0) {
		errprintf(err, "out of memory");
		rc = FAILED;
	}
	if (rc == PLACED)
		plan_explain_kind(p, i, fastest);
	fit_free(&fit);
	free(list);
	return rc;
}
