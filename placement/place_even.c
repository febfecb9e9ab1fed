// SPDX-License-Identifier: GPL-2.0-or-later
/* Compares layouts by how even they are; leaves out moves that do not make the layout more even. */
#include <string.h>

#include "placement/place_impl.h"

/* A shift: one more unit of GROUP in the domain TO, and one less in FROM. */
struct shift {
	struct place_group *group;
	unsigned from, to;
};

struct loads {
	/* [class][d]: cores in domain d of the units of this class and of those placed before it */
	unsigned load[PLACE_CLASSES][PLACE_DOMAINS_MAX];
};

static void raise_loads(struct loads *l, unsigned class, unsigned domain, unsigned cores)
{
	for (unsigned order = class; order < PLACE_CLASSES; order++)
		l->load[order][domain] += cores;
}

/*
 * Sum up the loads of E, with the groups' units in their present domains if PRESENT, else in their
 * new places.
 */
static void sum_loads(struct loads *out, const struct place_even *e, bool present)
{
	memset(out, 0, sizeof(*out));
	for (unsigned d = 0; d < e->host->n_domains; d++) {
		for (unsigned class = 0; class < PLACE_CLASSES; class ++)
			raise_loads(out, class, d, e->fixed[class][d]);
		for (unsigned i = 0; i < e->n; i++) {
			const struct place_group *g = &e->group[i];

			raise_loads(out, g->class, d,
				    g->cores * (present ? g->present[d] : g->places[d]));
		}
	}
}

/* Is A at least as even as B? */
static bool is_as_even(const struct place_even *e, const struct loads *a, const struct loads *b)
{
	for (unsigned order = 0; order < PLACE_CLASSES; order++) {
		uint64_t x = 0, y = 0;

		for (unsigned d = 0; d < e->host->n_domains; d++) {
			x += (uint64_t)a->load[order][d] * a->load[order][d];
			y += (uint64_t)b->load[order][d] * b->load[order][d];
		}
		if (x != y)
			return x < y;
	}
	return true;
}

static bool fits(const struct place_even *e, const struct loads *l)
{
	for (unsigned d = 0; d < e->host->n_domains; d++)
		if (l->load[PLACE_CLASSES - 1][d] > e->host->cores[d])
			return false;
	return true;
}

/*
 * Make the N shifts in L if the layout then fits and is as even as before. Returns whether they are
 * made.
 */
static bool try_shifts(const struct place_even *e, struct loads *l, const struct shift *s,
		       unsigned n)
{
	struct loads after = *l;

	for (unsigned i = 0; i < n; i++) {
		unsigned cores = s[i].group->cores;

		raise_loads(&after, s[i].group->class, s[i].to, cores);
		for (unsigned order = s[i].group->class; order < PLACE_CLASSES; order++)
			after.load[order][s[i].from] -= cores;
	}
	if (!fits(e, &after) || !is_as_even(e, &after, l))
		return false;
	for (unsigned i = 0; i < n; i++) {
		s[i].group->places[s[i].from]--;
		s[i].group->places[s[i].to]++;
	}
	*l = after;
	return true;
}

/* Do units of G move from domain A to B? */
static bool has_moves(const struct place_group *g, unsigned a, unsigned b)
{
	return g->places[a] < g->present[a] && g->places[b] > g->present[b];
}

/* Leave out one move of a group from domain A to B, alone or together with a move from B to A.
 * Returns whether this was possible. */
static bool leave_out_one(struct place_even *e, struct loads *l, unsigned a, unsigned b)
{
	for (unsigned i = 0; i < e->n; i++) {
		struct shift s[2] = { { &e->group[i], b, a } };

		if (!has_moves(&e->group[i], a, b))
			continue;
		if (try_shifts(e, l, s, 1))
			return true;
		for (unsigned k = 0; k < e->n; k++) {
			s[1] = (struct shift){ &e->group[k], a, b };
			if (has_moves(&e->group[k], b, a) && try_shifts(e, l, s, 2))
				return true;
		}
	}
	return false;
}

void place_leave_out(struct place_even *e)
{
	struct loads present, l;
	bool found = true;

	sum_loads(&present, e, true);
	sum_loads(&l, e, false);
	if (is_as_even(e, &present, &l)) {
		for (unsigned i = 0; i < e->n; i++)
			memcpy(e->group[i].places, e->group[i].present, sizeof(e->group[i].places));
		return;
	}
	while (found) {
		found = false;
		for (unsigned a = 0; a < e->host->n_domains; a++)
			for (unsigned b = 0; b < e->host->n_domains; b++)
				while (leave_out_one(e, &l, a, b))
					found = true;
	}
}
