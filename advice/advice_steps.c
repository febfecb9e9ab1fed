/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "advice/advice_impl.h"

/* State of one layout_visit_steps(). */
struct visit {
	const struct layout *l;
	step_visit *visit;
	void *arg;
	struct advice_step step; /* devil, from, to, and the turtles chosen so far */
	unsigned turtle[ADVICE_TURTLES_MAX], n; /* turtles on STEP.TO that may move to STEP.FROM */
	/* CPUs that swapped turtles must free on STEP.TO, and may take on STEP.FROM */
	unsigned need, room;
};

static unsigned free_cpus(const struct layout *l, unsigned node)
{
	return l->site->node[node].cpus - l->used[node];
}

static bool may_go(const struct layout *l, unsigned container, unsigned node)
{
	return l->site->node[node].open &&
	       (l->site->container[container].groups & l->site->node[node].groups);
}

static bool has_turtle(const struct advice_step *s, unsigned container)
{
	for (unsigned i = 0; i < s->n_turtles; i++)
		if (s->turtle[i] == container)
			return true;
	return false;
}

/* Return the traffic between CONTAINER and the containers of NODE that do not move in step S. */
static int64_t sum_pull(const struct layout *l, const struct advice_step *s, unsigned container,
			unsigned node)
{
	const struct advice_container *c = l->site->container;
	int64_t sum = 0;

	if (!l->pull[container])
		return 0;
	for (unsigned i = l->head[node]; i != ADVICE_NONE; i = l->next[i])
		if (i != s->devil && !has_turtle(s, i))
			sum += advice_pair_traffic(&c[container], &c[i]);
	return sum;
}

static void weigh_step(const struct layout *l, struct advice_step *s)
{
	const struct advice_weights *w = &l->site->weights;
	int64_t pull;

	s->from_devils = l->devils[s->from];
	s->to_devils = l->devils[s->to];
	s->devils = ADVICE_UNIT * ((int64_t)s->from_devils - 1 - s->to_devils) * w->devils;
	s->power = l->site->node[s->to].powered || l->count[s->to]
			   ? 0
			   : -ADVICE_UNIT * (int64_t)w->power;
	pull = sum_pull(l, s, s->devil, s->to) - sum_pull(l, s, s->devil, s->from);
	for (unsigned i = 0; i < s->n_turtles; i++)
		pull += sum_pull(l, s, s->turtle[i], s->from) - sum_pull(l, s, s->turtle[i], s->to);
	s->parting = pull * w->parting;
	s->gain = s->devils + s->power + s->parting;
}

static void offer_step(struct visit *v, enum advice_kind kind)
{
	v->step.kind = kind;
	weigh_step(v->l, &v->step);
	if (v->step.gain > 0)
		v->visit(&v->step, v->arg);
}

/* Return whether the step needs each of the chosen turtles, which have CPUS CPUs in total. */
static bool needs_each_turtle(const struct visit *v, unsigned cpus)
{
	for (unsigned i = 0; i < v->step.n_turtles; i++)
		if (cpus - v->l->site->container[v->step.turtle[i]].cpus >= v->need)
			return false;
	return true;
}

/*
 * Offer all swaps of the turtles chosen so far (CPUS CPUs in total) and of turtles from index FIRST
 * on.
 */
static void choose_turtles(struct visit *v, unsigned first, unsigned cpus)
{
	unsigned tried = ADVICE_NONE;

	if (cpus >= v->need) {
		if (cpus <= v->room && needs_each_turtle(v, cpus))
			offer_step(v, ADVICE_SWAP);
		return;
	}
	if (v->step.n_turtles == ADVICE_SWAP_MAX)
		return;
	for (unsigned i = first; i < v->n; i++) {
		unsigned turtle = v->turtle[i];

		if (v->l->kind[turtle] == tried)
			continue;
		tried = v->l->kind[turtle];
		v->step.turtle[v->step.n_turtles++] = turtle;
		choose_turtles(v, i + 1, cpus + v->l->site->container[turtle].cpus);
		v->step.n_turtles--;
	}
}

/* List the turtles on STEP.TO that may move to STEP.FROM, grouped by kind. */
static void list_turtles(struct visit *v)
{
	const struct layout *l = v->l;

	v->n = 0;
	for (unsigned i = l->head[v->step.to]; i != ADVICE_NONE && v->n < ADVICE_TURTLES_MAX;
	     i = l->next[i]) {
		unsigned at, alike = 0;

		if (l->site->container[i].class != RANK_TURTLE || !may_go(l, i, v->step.from))
			continue;
		for (at = v->n; at > 0 && l->kind[v->turtle[at - 1]] != l->kind[i]; at--)
			;
		for (unsigned k = 0; k < v->n; k++)
			alike += l->kind[v->turtle[k]] == l->kind[i];
		if (alike == ADVICE_SWAP_MAX)
			continue;
		if (!alike)
			at = v->n;
		for (unsigned k = v->n; k > at; k--)
			v->turtle[k] = v->turtle[k - 1];
		v->turtle[at] = i;
		v->n++;
	}
}

static void try_node(struct visit *v)
{
	const struct layout *l = v->l;
	unsigned cpus = l->site->container[v->step.devil].cpus, to = v->step.to;
	bool idle = l->count[to] == 0 && l->site->node[to].taken == 0;

	if (to == v->step.from || !may_go(l, v->step.devil, to) || cpus > l->site->node[to].cpus)
		return;
	if (idle && l->seen[l->node_kind[to]] == v->step.devil + 1)
		return;
	if (idle)
		l->seen[l->node_kind[to]] = v->step.devil + 1;
	if (cpus <= free_cpus(l, to)) {
		offer_step(v, idle ? ADVICE_IDLE : ADVICE_ROOM);
		return;
	}
	v->need = cpus - free_cpus(l, to);
	v->room = cpus + free_cpus(l, v->step.from);
	list_turtles(v);
	choose_turtles(v, 0, 0);
}

/* Return whether an earlier devil of the same node has DEVIL's kind, and so the same steps. */
static bool is_repeated(const struct layout *l, unsigned devil)
{
	for (unsigned i = l->head[l->node[devil]]; i < devil; i = l->next[i])
		if (l->kind[i] == l->kind[devil])
			return true;
	return false;
}

void layout_visit_steps(const struct layout *l, unsigned from, step_visit *visit, void *arg)
{
	struct visit v = { .l = l, .visit = visit, .arg = arg };

	if (l->devils[from] < 2)
		return;
	v.step.from = from;
	for (unsigned i = 0; i < l->site->n_nodes; i++)
		l->seen[i] = 0;
	for (unsigned d = l->head[from]; d != ADVICE_NONE; d = l->next[d]) {
		if (l->site->container[d].class != RANK_DEVIL || is_repeated(l, d))
			continue;
		v.step.devil = d;
		for (v.step.to = 0; v.step.to < l->site->n_nodes; v.step.to++)
			try_node(&v);
	}
}

static unsigned moved_cpus(const struct layout *l, const struct advice_step *s)
{
	unsigned cpus = l->site->container[s->devil].cpus;

	for (unsigned i = 0; i < s->n_turtles; i++)
		cpus += l->site->container[s->turtle[i]].cpus;
	return cpus;
}

bool step_before(const struct layout *l, const struct advice_step *a, const struct advice_step *b)
{
	unsigned x = moved_cpus(l, a), y = moved_cpus(l, b);

	if (a->gain != b->gain)
		return a->gain > b->gain;
	if (a->kind != b->kind)
		return a->kind < b->kind;
	if (x != y)
		return x < y;
	return a->devil != b->devil ? a->devil < b->devil : a->to < b->to;
}
