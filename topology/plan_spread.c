/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chooses cores that are spread over the domains of a level: all domains give the same number of
 * threads, as far as they have so many. Within a domain, the cores are packed.
 */
#include <stdlib.h>
#include <string.h>

#include "topology/plan_impl.h"

/* The candidates in one domain of the level, or all candidates outside of such domains. */
struct spread_group {
	unsigned domain; /* NONE: no domain */
	unsigned first, n; /* its candidates are member[first] .. member[first + n - 1] */
	unsigned next; /* how many of its candidates are given */
	unsigned given; /* how many threads are given */
};

struct spread {
	const struct fit_in *in;
	struct spread_group *group; /* in logical order */
	unsigned n;
	unsigned *of; /* the group of each candidate */
	unsigned *member; /* the candidates, group after group */
};

static unsigned spread_domain(const struct fit_in *in, unsigned candidate, enum level level)
{
	return in->m->core[in->core[candidate].core].of[level];
}

/* Return the index of DOMAIN's group, which is added if missing. LAST is the group to try first. */
static unsigned spread_find_group(struct spread *s, unsigned domain, unsigned last)
{
	unsigned g = 0;

	if (last < s->n && s->group[last].domain == domain)
		return last;
	while (g < s->n && s->group[g].domain != domain)
		g++;
	if (g == s->n)
		s->group[s->n++].domain = domain;
	return g;
}

/* List the groups and their candidates. Returns 0, or -1 if out of memory. */
static int spread_list(struct spread *s, const struct fit_in *in, enum level level)
{
	unsigned first = 0;

	s->in = in;
	s->group = calloc(in->n, sizeof(*s->group));
	s->of = calloc(in->n, sizeof(*s->of));
	s->member = calloc(in->n, sizeof(*s->member));
	if (!s->group || !s->of || !s->member)
		return -1;
	for (unsigned i = 0; i < in->n; i++) {
		s->of[i] = spread_find_group(s, spread_domain(in, i, level), i ? s->of[i - 1] : 0);
		s->group[s->of[i]].n++;
	}
	for (unsigned g = 0; g < s->n; g++) {
		s->group[g].first = first;
		first += s->group[g].n;
		s->group[g].n = 0;
	}
	for (unsigned i = 0; i < in->n; i++) {
		struct spread_group *group = &s->group[s->of[i]];

		s->member[group->first + group->n++] = i;
	}
	return 0;
}

/* Give cores until NEED threads are given, always from the group that has given the fewest. */
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
		width = s->in->core[s->member[to->first + to->next++]].width;
		/* the last core may have more threads than are still needed */
		to->given += width < need - sum ? width : need - sum;
		sum += width;
	}
}

/* Choose packed cores of GROUP for the threads that GROUP gives, and set their flags in TAKE. */
static int spread_pack(const struct spread *s, const struct spread_group *group, bool *take)
{
	const unsigned *member = &s->member[group->first];
	struct fit_core *core = calloc(group->n, sizeof(*core));
	struct fit_in in = *s->in;
	struct fit_out out = { .take = NULL };
	int rc = -1;

	in.core = core;
	in.n = group->n;
	in.need = group->given;
	for (unsigned i = 0; core && i < in.n; i++)
		core[i] = s->in->core[member[i]];
	if (core)
		rc = fit_kinds(&in, &out);
	for (unsigned i = 0; rc == 1 && i < in.n; i++)
		take[member[i]] = out.take[i];
	fit_free(&out);
	free(core);
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
			rc = spread_pack(&s, &s.group[g], take);
	free(s.group);
	free(s.of);
	free(s.member);
	return rc;
}

unsigned plan_count_domains(const struct fit_in *in, const bool *take, enum level level)
{
	unsigned n = 0, last = NONE;

	/* the cores of a domain are consecutive, and domains of one level do not overlap */
	for (unsigned i = 0; i < in->n; i++) {
		const unsigned domain = spread_domain(in, i, level);

		if ((take && !take[i]) || domain == NONE || domain == last)
			continue;
		last = domain;
		n++;
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
 * Return how much memory for WANT is near the package of the cores in TAKE, or 0 if the cores are
 * of several packages.
 */
static uint64_t spread_amount_beside(const struct planner *p, const struct plan_want *want,
				     const struct fit_in *in, const bool *take)
{
	const struct domain *package = NULL;
	struct idset nodes;
	uint64_t sum = 0;

	plan_nodes_of(p, want->kind, &nodes);
	if (plan_count_domains(in, take, LEVEL_PACKAGE) != 1)
		return 0;
	for (unsigned i = 0; !package; i++)
		if (take[i] && spread_domain(in, i, LEVEL_PACKAGE) != NONE)
			package = &p->m->domain[spread_domain(in, i, LEVEL_PACKAGE)];
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
