/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "advice/advice_impl.h"

/*
 * The states of a breadth-first search are layouts. Of the layouts with the same cost, the first
 * one takes the fewest steps. Layouts that differ only in containers of one kind are the same
 * state. The key of a state is a sum of random numbers of 64 bits, one for the kind and node of
 * each container: with 200,000 layouts, two of them get the same key once in 10^9 searches.
 */
struct state {
	uint64_t key;
	int64_t cost;
	unsigned parent; /* index of the state that it was reached from */
	struct advice_step step; /* from the parent to here */
};

struct search {
	struct layout *l;
	/* N: states found so far; MAX: the limit of N; ROOM: states that STATE has memory for */
	unsigned n, max, room;
	struct state *state;
	unsigned *where; /* for each state, the node of each container */
	unsigned *slot; /* hash table of the states by key: index + 1, or 0 if the slot is free */
	unsigned slots; /* its size, a power of two */
	unsigned at; /* index of the state whose steps are followed */
	unsigned n_steps, step_room;
	struct advice_step *step; /* the steps that state AT allows */
	bool full, failed; /* FULL: there are more than MAX states; FAILED: out of memory */
};

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t mix_bits(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static uint64_t part_of_key(const struct layout *l, unsigned container, unsigned node)
{
	return mix_bits(((uint64_t)l->kind[container] << 32) | node);
}

static uint64_t key_after(const struct search *s, const struct advice_step *t)
{
	const struct layout *l = s->l;
	uint64_t key = s->state[s->at].key;

	key += part_of_key(l, t->devil, t->to) - part_of_key(l, t->devil, t->from);
	for (unsigned i = 0; i < t->n_turtles; i++)
		key += part_of_key(l, t->turtle[i], t->from) - part_of_key(l, t->turtle[i], t->to);
	return key;
}

/* The slot that has KEY, or the free slot where it belongs. */
static unsigned *find_slot(const struct search *s, uint64_t key)
{
	unsigned i = (unsigned)key & (s->slots - 1);

	while (s->slot[i] && s->state[s->slot[i] - 1].key != key)
		i = (i + 1) & (s->slots - 1);
	return &s->slot[i];
}

static int grow_states(struct search *s)
{
	unsigned room = s->room ? 2 * s->room : 256;
	struct state *state = reallocarray(s->state, room, sizeof(*state));
	unsigned *where;

	if (!state)
		return -1;
	s->state = state;
	where = reallocarray(s->where, (size_t)room * s->l->site->n + 1, sizeof(*where));
	if (!where)
		return -1;
	s->where = where;
	s->room = room;
	return 0;
}

static void add_state(struct search *s, uint64_t key, int64_t cost, const struct advice_step *step)
{
	unsigned n = s->l->site->n;
	unsigned *to;

	if (s->n == s->max) {
		s->full = true;
		return;
	}
	if (s->n == s->room && grow_states(s) < 0) {
		s->failed = true;
		return;
	}
	to = s->where + (size_t)s->n * n;
	for (unsigned i = 0; i < n; i++)
		to[i] = s->l->node[i];
	if (step) {
		to[step->devil] = step->to;
		for (unsigned i = 0; i < step->n_turtles; i++)
			to[step->turtle[i]] = step->from;
	}
	s->state[s->n] = (struct state){ .key = key, .cost = cost, .parent = s->at };
	if (step)
		s->state[s->n].step = *step;
	*find_slot(s, key) = ++s->n;
}

static void keep_step(const struct advice_step *step, void *arg)
{
	struct search *s = arg;
	unsigned room = s->step_room ? 2 * s->step_room : 64;
	struct advice_step *grown;

	if (s->n_steps == s->step_room) {
		grown = reallocarray(s->step, room, sizeof(*grown));
		s->failed |= !grown;
		if (!grown)
			return;
		s->step = grown;
		s->step_room = room;
	}
	s->step[s->n_steps++] = *step;
}

static int compare_kept(const void *a, const void *b, void *arg)
{
	const struct search *s = arg;

	return step_before(s->l, b, a) - step_before(s->l, a, b);
}

/* Add the layouts that one step from state S->AT reaches, those of better steps first. */
static void follow_state(struct search *s)
{
	s->n_steps = 0;
	layout_set(s->l, s->where + (size_t)s->at * s->l->site->n);
	for (unsigned node = 0; node < s->l->site->n_nodes; node++)
		layout_visit_steps(s->l, node, keep_step, s);
	if (s->n_steps)
		qsort_r(s->step, s->n_steps, sizeof(*s->step), compare_kept, s);
	for (unsigned i = 0; i < s->n_steps && !s->full && !s->failed; i++) {
		uint64_t key = key_after(s, &s->step[i]);

		if (!*find_slot(s, key))
			add_state(s, key, s->state[s->at].cost - s->step[i].gain, &s->step[i]);
	}
}

/* Write the steps that lead to the cheapest state. Returns 1, or 0 if there are too many steps. */
static int take_best(struct advice *out, const struct search *s)
{
	unsigned best = 0, n = 0;

	for (unsigned i = 1; i < s->n; i++)
		if (s->state[i].cost < s->state[best].cost)
			best = i;
	for (unsigned i = best; i; i = s->state[i].parent)
		n++;
	if (n > ADVICE_STEPS_MAX)
		return 0;
	out->n = n;
	out->after = s->state[best].cost;
	for (unsigned i = best; i; i = s->state[i].parent)
		out->step[--n] = s->state[i].step;
	return 1;
}

int advice_search_all(struct advice *out, struct layout *l, unsigned states)
{
	struct search s = { .l = l, .max = states, .slots = 1 };
	uint64_t key = 0;
	int rc = -1;

	while (s.slots / 2 < states && s.slots < 1u << 30)
		s.slots *= 2;
	s.slot = calloc(s.slots, sizeof(*s.slot));
	for (unsigned i = 0; i < l->site->n; i++)
		key += part_of_key(l, i, l->node[i]);
	if (s.slot) {
		add_state(&s, key, out->before, NULL);
		for (s.at = 0; s.at < s.n && !s.full && !s.failed; s.at++)
			follow_state(&s);
		if (!s.failed)
			rc = s.full ? 0 : take_best(out, &s);
	}
	if (s.n)
		layout_set(l, s.where);
	free(s.step);
	free(s.slot);
	free(s.state);
	free(s.where);
	return rc;
}
