/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "advice/advice_impl.h"

#define NODE_ARRAYS 6
#define CONTAINER_ARRAYS 4

static unsigned pull_of(const struct advice_container *c)
{
	if (c->traffic == ADVICE_TRAFFIC_UNKNOWN)
		return 0;
	if (c->traffic >= ADVICE_TRAFFIC_FULL)
		return ADVICE_UNIT;
	return c->traffic / (ADVICE_TRAFFIC_FULL / ADVICE_UNIT);
}

unsigned advice_pair_traffic(const struct advice_container *a, const struct advice_container *b)
{
	unsigned x = pull_of(a), y = pull_of(b);

	if (a->job != b->job)
		return 0;
	return x < y ? x : y;
}

static int compare(uint64_t x, uint64_t y)
{
	return (x > y) - (x < y);
}

/* Order by job, and containers of one job by their traffic. */
static int compare_by_job(const void *a, const void *b, void *arg)
{
	const struct layout *l = arg;
	unsigned i = *(const unsigned *)a, j = *(const unsigned *)b;
	const struct advice_container *x = &l->site->container[i], *y = &l->site->container[j];

	return x->job != y->job ? compare(x->job, y->job) : compare(pull_of(x), pull_of(y));
}

/*
 * Returns 0 if a search need not distinguish containers I and J. A container that communicates
 * equals no other container.
 */
static int compare_kinds(const struct layout *l, unsigned i, unsigned j)
{
	const struct advice_container *x = &l->site->container[i], *y = &l->site->container[j];
	int order = compare(x->class, y->class);

	if (!order)
		order = compare(x->cpus, y->cpus);
	if (!order)
		order = compare(x->groups, y->groups);
	if (!order)
		order = compare(l->pull[i] ? i + 1 : 0, l->pull[j] ? j + 1 : 0);
	return order;
}

static int compare_container_order(const void *a, const void *b, void *arg)
{
	unsigned i = *(const unsigned *)a, j = *(const unsigned *)b;
	int order = compare_kinds(arg, i, j);

	return order ? order : compare(i, j);
}

static int compare_node_kinds(const struct layout *l, unsigned i, unsigned j)
{
	const struct advice_node *x = &l->site->node[i], *y = &l->site->node[j];
	int order = compare(x->cpus, y->cpus);

	if (!order)
		order = compare(x->groups, y->groups);
	return order ? order : compare(x->powered, y->powered);
}

static int compare_node_order(const void *a, const void *b, void *arg)
{
	unsigned i = *(const unsigned *)a, j = *(const unsigned *)b;
	int order = compare_node_kinds(arg, i, j);

	return order ? order : compare(i, j);
}

static void number_array(unsigned *order, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		order[i] = i;
}

/* Fill PULL and APART. ORDER: scratch. */
static void measure_pull(struct layout *l, unsigned *order)
{
	const struct advice_container *c = l->site->container;
	unsigned n = l->site->n;
	int64_t apart = 0;

	number_array(order, n);
	qsort_r(order, n, sizeof(*order), compare_by_job, l);
	for (unsigned first = 0, last; first < n; first = last) {
		last = first + 1;
		while (last < n && c[order[last]].job == c[order[first]].job)
			last++;
		for (unsigned i = first; i < last; i++) {
			/*
			 * all later containers have at least this traffic, and the smaller traffic
			 * counts in a pair
			 */
			l->pull[order[i]] = pull_of(&c[order[i]]);
			apart += (int64_t)pull_of(&c[order[i]]) * (last - i - 1);
		}
		/* the last container is in no pair if no other container communicates */
		if (last - first == 1 || pull_of(&c[order[last - 2]]) == 0)
			l->pull[order[last - 1]] = 0;
	}
	l->apart = apart * l->site->weights.parting;
}

/* Fill KIND and NODE_KIND. ORDER: scratch. */
static void find_kinds(struct layout *l, unsigned *order)
{
	number_array(order, l->site->n);
	qsort_r(order, l->site->n, sizeof(*order), compare_container_order, l);
	for (unsigned i = 0; i < l->site->n; i++)
		l->kind[order[i]] = i && compare_kinds(l, order[i - 1], order[i]) == 0
					    ? l->kind[order[i - 1]]
					    : order[i];
	number_array(order, l->site->n_nodes);
	qsort_r(order, l->site->n_nodes, sizeof(*order), compare_node_order, l);
	for (unsigned i = 0; i < l->site->n_nodes; i++)
		l->node_kind[order[i]] = i && compare_node_kinds(l, order[i - 1], order[i]) == 0
						 ? l->node_kind[order[i - 1]]
						 : order[i];
}

int layout_open(struct layout *l, const struct advice_site *site)
{
	size_t nodes = site->n_nodes, n = site->n;
	/* one more array of each size is scratch for sorting */
	unsigned *at =
		calloc((NODE_ARRAYS + 1) * nodes + (CONTAINER_ARRAYS + 1) * n + 1, sizeof(*at));
	unsigned **of_nodes[NODE_ARRAYS] = { &l->used, &l->devils,    &l->count,
					     &l->head, &l->node_kind, &l->seen };
	unsigned **of_containers[CONTAINER_ARRAYS] = { &l->node, &l->next, &l->kind, &l->pull };

	if (!at)
		return -1;
	*l = (struct layout){ .site = site, .memory = at };
	for (unsigned i = 0; i < NODE_ARRAYS; i++, at += nodes)
		*of_nodes[i] = at;
	for (unsigned i = 0; i < CONTAINER_ARRAYS; i++, at += n)
		*of_containers[i] = at;
	measure_pull(l, at);
	find_kinds(l, at);
	for (unsigned i = 0; i < n; i++)
		at[i] = site->container[i].node;
	layout_set(l, at);
	return 0;
}

void layout_close(struct layout *l)
{
	free(l->memory);
	l->memory = NULL;
}

static void put_on_node(struct layout *l, unsigned i, unsigned node)
{
	const struct advice_container *c = &l->site->container[i];
	unsigned *at = &l->head[node];

	while (*at < i)
		at = &l->next[*at];
	l->next[i] = *at;
	*at = i;
	l->node[i] = node;
	l->used[node] += c->cpus;
	l->count[node]++;
	l->devils[node] += c->class == RANK_DEVIL;
}

static void take_from_node(struct layout *l, unsigned i)
{
	const struct advice_container *c = &l->site->container[i];
	unsigned node = l->node[i], *at = &l->head[node];

	while (*at != i)
		at = &l->next[*at];
	*at = l->next[i];
	l->used[node] -= c->cpus;
	l->count[node]--;
	l->devils[node] -= c->class == RANK_DEVIL;
}

void layout_set(struct layout *l, const unsigned *to)
{
	for (unsigned i = 0; i < l->site->n_nodes; i++) {
		l->used[i] = l->site->node[i].taken;
		l->devils[i] = l->count[i] = 0;
		l->head[i] = ADVICE_NONE;
	}
	/* go backwards: each container is inserted at the head of its list */
	for (unsigned i = l->site->n; i-- > 0;)
		put_on_node(l, i, to[i]);
}

static void exchange_containers(struct layout *l, const struct advice_step *s, unsigned from,
				unsigned to)
{
	take_from_node(l, s->devil);
	for (unsigned i = 0; i < s->n_turtles; i++) {
		take_from_node(l, s->turtle[i]);
		put_on_node(l, s->turtle[i], from);
	}
	put_on_node(l, s->devil, to);
}

void layout_apply(struct layout *l, const struct advice_step *s)
{
	exchange_containers(l, s, s->from, s->to);
}

void layout_undo(struct layout *l, const struct advice_step *s)
{
	exchange_containers(l, s, s->to, s->from);
}

/* Return the traffic between the containers of one node. */
static int64_t sum_together(const struct layout *l, unsigned node)
{
	int64_t sum = 0;

	for (unsigned i = l->head[node]; i != ADVICE_NONE; i = l->next[i])
		for (unsigned j = l->pull[i] ? l->next[i] : ADVICE_NONE; j != ADVICE_NONE;
		     j = l->next[j])
			sum += advice_pair_traffic(&l->site->container[i], &l->site->container[j]);
	return sum;
}

int64_t layout_cost(const struct layout *l)
{
	const struct advice_weights *w = &l->site->weights;
	int64_t cost = l->apart;

	for (unsigned i = 0; i < l->site->n_nodes; i++) {
		int64_t devils = l->devils[i];

		if (devils)
			cost += ADVICE_UNIT * (devils * (devils - 1) / 2) * w->devils;
		if (l->site->node[i].powered || l->count[i])
			cost += ADVICE_UNIT * (int64_t)w->power;
		cost -= sum_together(l, i) * w->parting;
	}
	return cost;
}
