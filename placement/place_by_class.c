// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The policies dino and spread: first a layout that says only how many units of each class a domain
 * has; then as many units as possible stay where they are. spread treats all units as one class.
 */
#include <stdlib.h>

#include "placement/place_impl.h"

struct sorted_unit {
	unsigned class, cores, index;
};

struct groups {
	struct sorted_unit *order; /* units that can move, by group */
	unsigned n_units;
	struct place_group *group;
	unsigned n;
};

/* Return the position of a unit's class in the layout's order; 0 is placed first. */
static unsigned order_of(const struct place_unit *u, bool by_class)
{
	if (!by_class)
		return 0;
	return u->class == RANK_DEVIL ? 0 : u->class == RANK_SEMI_DEVIL ? 1 : 2;
}

static int compare_units(const void *a, const void *b)
{
	const struct sorted_unit *x = a, *y = b;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (x->cores != y->cores)
		return x->cores > y->cores ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static void free_groups(struct groups *g)
{
	free(g->order);
	free(g->group);
}

static int make_groups(struct groups *g, const struct place_host *h, bool by_class)
{
	*g = (struct groups){ .order = calloc(h->n + 1, sizeof(*g->order)) };
	if (!g->order)
		return -1;
	for (unsigned i = 0; i < h->n; i++)
		if (!h->unit[i].fixed)
			g->order[g->n_units++] =
				(struct sorted_unit){ order_of(&h->unit[i], by_class),
						      h->unit[i].cores, i };
	qsort(g->order, g->n_units, sizeof(*g->order), compare_units);
	for (unsigned i = 0; i < g->n_units; i++)
		g->n += i == 0 || g->order[i].class != g->order[i - 1].class ||
			g->order[i].cores != g->order[i - 1].cores;
	g->group = calloc(g->n + 1, sizeof(*g->group));
	if (!g->group) {
		free_groups(g);
		return -1;
	}
	g->n = 0;
	for (unsigned i = 0; i < g->n_units; i++) {
		const struct sorted_unit *s = &g->order[i];
		struct place_group *last = &g->group[g->n - (g->n > 0)];

		if (g->n == 0 || last->class != s->class || last->cores != s->cores) {
			last = &g->group[g->n++];
			*last = (struct place_group){ .class = s->class,
						      .cores = s->cores,
						      .first = i };
		}
		last->n++;
		last->present[h->unit[s->index].domain]++;
	}
	return 0;
}

/* Give each group its places in the parts of the layout. */
static int lay_out(struct groups *g, const struct place_host *h, bool by_class)
{
	struct layout l;
	unsigned next = 0;

	layout_begin(&l, h);
	for (unsigned class = 0; class < 3; class ++) {
		for (unsigned i = 0; i < h->n; i++)
			if (h->unit[i].fixed && order_of(&h->unit[i], by_class) == class)
				layout_count(&l, &h->unit[i]);
		for (; next < g->n && g->group[next].class == class; next++) {
			struct place_group *group = &g->group[next];

			for (unsigned k = 0; k < group->n; k++) {
				int part = layout_add(&l, group->cores);

				if (part < 0)
					return -1;
				group->quota[part]++;
			}
		}
	}
	return 0;
}

/* Give each domain a part of the layout: fill the places of each group. */
static void choose_parts(struct groups *g, const struct place_host *h)
{
	unsigned cost[PLACE_DOMAINS_MAX][PLACE_DOMAINS_MAX] = { { 0 } }, want[PLACE_DOMAINS_MAX];
	bool exchangeable[PLACE_DOMAINS_MAX];

	for (unsigned d = 0; d < h->n_domains; d++)
		exchangeable[d] = true;
	for (unsigned i = 0; i < h->n; i++)
		if (h->unit[i].fixed)
			exchangeable[h->unit[i].domain] = false;
	for (unsigned i = 0; i < g->n; i++) {
		const struct place_group *group = &g->group[i];

		for (unsigned part = 0; part < h->n_domains; part++)
			for (unsigned d = 0; d < h->n_domains; d++)
				if (group->quota[part] > group->present[d])
					cost[part][d] += group->cores *
							 (group->quota[part] - group->present[d]);
	}
	place_assign(h, cost, exchangeable, want);
	for (unsigned i = 0; i < g->n; i++)
		for (unsigned d = 0; d < h->n_domains; d++)
			g->group[i].places[d] = g->group[i].quota[want[d]];
}

/* Leave out the moves that do not make the layout more even. */
static void leave_out(struct groups *g, const struct place_host *h, bool by_class)
{
	struct place_even e = { .host = h, .group = g->group, .n = g->n };

	for (unsigned i = 0; i < h->n; i++)
		if (h->unit[i].fixed)
			e.fixed[order_of(&h->unit[i], by_class)][h->unit[i].domain] +=
				h->unit[i].cores;
	place_leave_out(&e);
}

/* Let units stay where their group has places, and fill the remaining places with the others. */
static void fill_places(const struct groups *g, const struct place_host *h, unsigned *to)
{
	for (unsigned i = 0; i < g->n; i++) {
		const struct place_group *group = &g->group[i];
		unsigned left[PLACE_DOMAINS_MAX], next = 0;

		for (unsigned d = 0; d < h->n_domains; d++)
			left[d] = group->places[d];
		for (unsigned k = 0; k < group->n; k++) {
			unsigned unit = g->order[group->first + k].index;
			unsigned d = h->unit[unit].domain;

			to[unit] = h->n_domains; /* not placed yet */
			if (left[d] > 0) {
				left[d]--;
				to[unit] = d;
			}
		}
		for (unsigned k = 0; k < group->n; k++) {
			unsigned unit = g->order[group->first + k].index;

			if (to[unit] < h->n_domains)
				continue;
			while (left[next] == 0)
				next++;
			left[next]--;
			to[unit] = next;
		}
	}
}

static int place_groups(const struct place_host *h, unsigned *to, bool by_class)
{
	struct groups g;
	int rc = -1;

	if (make_groups(&g, h, by_class) < 0)
		return -1;
	for (unsigned i = 0; i < h->n; i++)
		to[i] = h->unit[i].domain;
	if (lay_out(&g, h, by_class) == 0) {
		choose_parts(&g, h);
		leave_out(&g, h, by_class);
		fill_places(&g, h, to);
		rc = 0;
	}
	free_groups(&g);
	return rc;
}

int place_by_class(const struct place_host *h, unsigned *to)
{
	return place_groups(h, to, true);
}

int place_by_number(const struct place_host *h, unsigned *to)
{
	return place_groups(h, to, false);
}
