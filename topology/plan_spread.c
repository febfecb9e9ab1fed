/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cores spread over the domains of a level: each domain gets as many threads as the others, as far
 * as it has them; within a domain the cores are packed.
 */
#include <stdlib.h>
#include <string.h>

#include "topology/plan_impl.h"

/* A domain of the level, or all cores outside of its domains. */
struct spread_group {
	unsigned domain; /* or NONE */
	unsigned n, next; /* number of candidates; number of those that GIVEN counts */
	unsigned given; /* threads */
};

struct spread {
	const struct fit_in *in;
	struct spread_group *group; /* in logical order */
	unsigned n;
	unsigned *of; /* the group of each candidate */
};

static unsigned spread_domain(const struct fit_in *in, unsigned candidate, enum level level)
{
	return in->m->core[in->core[candidate].core].of[level];
}

static int spread_list(struct spread *s, const struct fit_in *in, enum level level)
{
	s->in = in;
	s->group = calloc(in->n, sizeof(*s->group));
	s->of = calloc(in->n, sizeof(*s->of));
	if (!s->group || !s->of)
		return -1;
	for (unsigned i = 0; i < in->n; i++) {
		unsigned domain = spread_domain(in, i, level), g = 0;

		while (g < s->n && s->group[g].domain != domain)
			g++;
		if (g == s->n)
			s->group[s->n++].domain = domain;
		s->group[g].n++;
		s->of[i] = g;
	}
	return 0;
}

static unsigned spread_nth(const struct spread *s, unsigned group, unsigned n)
{
	unsigned i = 0;

	while (s->of[i] != group || n-- > 0)
		i++;
	return i;
}

/* Give a core in turn to the group with the fewest threads, until NEED threads are given. */
static void spread_share(struct spread *s, unsigned need)
{
	for (unsigned sum = 0; sum < need;) {
		struct spread_group *to = NULL;
		unsigned width;

		for (unsigned g = 0; g < s->n; g++)
			if (s->group[g].next < s->group[g].n &&
			    (!to || s->group[g].given < to->given))
				to = &s->group[g];
		if (!to)
			return;
		width = s->in->core[spread_nth(s, (unsigned)(to - s->group), to->next++)].width;
		/* the last core may have more threads than are missing */
		to->given += width < need - sum ? width : need - sum;
		sum += width;
	}
}

/* Choose the cores of group G as the planner packs them, and note them in TAKE. */
static int spread_pack(const struct spread *s, unsigned g, bool *take)
{
	struct fit_core *core = calloc(s->in->n, sizeof(*core));
	struct fit_in in = *s->in;
	struct fit_out out = { .take = NULL };
	unsigned *index = calloc(s->in->n, sizeof(*index));
	int rc = -1;

	in.core = core;
	in.n = 0;
	in.need = s->group[g].given;
	for (unsigned i = 0; core && index && i < s->in->n; i++)
		if (s->of[i] == g) {
			index[in.n] = i;
			core[in.n++] = s->in->core[i];
		}
	if (in.n)
		rc = fit_kinds(&in, &out);
	for (unsigned i = 0; rc == 1 && i < in.n; i++)
		take[index[i]] = out.take[i];
	fit_free(&out);
	free(core);
	free(index);
	return rc == 1 ? 0 : -1;
}

int plan_spread(const struct fit_in *in, enum level level, bool *take)
{
	struct spread s = { .n = 0 };
	int rc = spread_list(&s, in, level);

	memset(take, 0, in->n * sizeof(*take));
	if (rc == 0)
		spread_share(&s, in->need);
	for (unsigned g = 0; rc == 0 && g < s.n; g++)
		if (s.group[g].given)
			rc = spread_pack(&s, g, take);
	free(s.group);
	free(s.of);
	return rc;
}

unsigned plan_count_domains(const struct fit_in *in, const bool *take, enum level level)
{
	unsigned n = 0;

	for (unsigned d = 0; d < in->m->n_domains; d++) {
		const struct domain *domain = &in->m->domain[d];
		bool used = false;

		for (unsigned i = 0; domain->levels & 1u << level && i < in->n; i++)
			used |= (!take || take[i]) && in->core[i].core >= domain->first_core &&
				in->core[i].core < domain->end_core;
		n += used;
	}
	return n;
}

enum level plan_spread_level(const struct fit_in *in, enum placement_word word)
{
	enum level level = LEVEL_PACKAGE;

	if (word == PLACEMENT_SPREAD_NUMA)
		return LEVEL_NUMA;
	if (word == PLACEMENT_SPREAD_L3)
		return LEVEL_L3;
	while (word == PLACEMENT_SPREAD && level < LEVEL_L3 &&
	       plan_count_domains(in, NULL, level) < 2)
		level = (enum level)(level + 1);
	return level;
}

/*
 * Return the amount of memory for WANT near the package of the cores in TAKE; 0: they are of
 * several packages.
 */
static uint64_t spread_amount_beside(const struct planner *p, const struct plan_want *want,
				     const struct fit_in *in, const bool *take)
{
	const struct domain *package = NULL;
	struct idset nodes;
	uint64_t sum = 0;

	plan_nodes_of(p, want->kind, &nodes);
	for (unsigned d = 0; d < p->m->n_domains; d++)
		for (unsigned i = 0; p->m->domain[d].levels & 1u << LEVEL_PACKAGE && i < in->n; i++)
			if (take[i] && in->core[i].core >= p->m->domain[d].first_core &&
			    in->core[i].core < p->m->domain[d].end_core)
				package = &p->m->domain[d];
	if (!package || plan_count_domains(in, take, LEVEL_PACKAGE) != 1)
		return 0;
	for (unsigned i = 0; i < p->m->n_nodes; i++) {
		const struct memnode *n = &p->m->node[i];

		if (idset_has(&nodes, n->os) && n->first_core < package->end_core &&
		    n->end_core > package->first_core)
			sum += (uint64_t)plan_node_amount(n, &want->ask);
	}
	return sum;
}

bool plan_needs_spread(const struct planner *p, const struct plan_ask *ask, const struct fit_in *in,
		       const bool *packed)
{
	if (ask->placement != PLACEMENT_UNSET || ask->mems_kind == MEMS_UNSET || p->thrift ||
	    plan_count_domains(in, NULL, LEVEL_PACKAGE) < 2)
		return false;
	for (unsigned w = 0; w < plan_ask_wants(ask); w++) {
		struct plan_want want;
		uint64_t beside;

		plan_ask_want(ask, w, &want);
		beside = spread_amount_beside(p, &want, in, packed);
		if (beside && beside < want.ask.mems)
			return true;
	}
	return false;
}
