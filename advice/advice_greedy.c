/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "advice/advice_impl.h"

#define AHEAD 16 /* steps that are judged together with the best step after them */

/* The best steps found so far, the best one first. */
struct choice {
	const struct layout *l;
	unsigned n, max;
	struct advice_step step[AHEAD];
};

static void choose_step(const struct advice_step *s, void *arg)
{
	struct choice *c = arg;
	unsigned at = c->n;

	while (at > 0 && step_before(c->l, s, &c->step[at - 1]))
		at--;
	if (at == c->max)
		return;
	if (c->n < c->max)
		c->n++;
	memmove(&c->step[at + 1], &c->step[at], (c->n - 1 - at) * sizeof(*s));
	c->step[at] = *s;
}

static void choose_of_all(struct choice *c)
{
	c->n = 0;
	for (unsigned node = 0; node < c->l->site->n_nodes; node++)
		layout_visit_steps(c->l, node, choose_step, c);
}

/*
 * Choose the step that gains most together with the best step after it. Returns false if no step
 * gains.
 */
static bool choose_ahead(struct advice_step *out, struct layout *l)
{
	struct choice c = { .l = l, .max = AHEAD }, next = { .l = l, .max = 1 };
	int64_t best = 0;

	choose_of_all(&c);
	for (unsigned i = 0; i < c.n; i++) {
		int64_t gain = c.step[i].gain;

		layout_apply(l, &c.step[i]);
		choose_of_all(&next);
		layout_undo(l, &c.step[i]);
		gain += next.n ? next.step[0].gain : 0;
		if (gain > best) {
			best = gain;
			*out = c.step[i];
		}
	}
	return c.n > 0;
}

/*
 * Choose the best step of the node with the most devils, as Clavis-HPC does. If that node has no
 * step, try the node with the next most devils, and so on. Returns false if no node has a step.
 */
static bool choose_worst_node(struct advice_step *out, const struct layout *l)
{
	struct choice c = { .l = l, .max = 1 };
	unsigned most = 0, below;

	for (unsigned i = 0; i < l->site->n_nodes; i++)
		if (l->devils[i] > most)
			most = l->devils[i];
	for (; most > 1 && !c.n; most = below) {
		below = 0;
		for (unsigned i = 0; i < l->site->n_nodes && !c.n; i++) {
			if (l->devils[i] == most)
				layout_visit_steps(l, i, choose_step, &c);
			else if (l->devils[i] < most && l->devils[i] > below)
				below = l->devils[i];
		}
	}
	*out = c.step[0];
	return c.n > 0;
}

void advice_search_greedy(struct advice *out, struct layout *l, bool ahead)
{
	struct advice_step step;

	while (out->n < ADVICE_STEPS_MAX &&
	       (ahead ? choose_ahead(&step, l) : choose_worst_node(&step, l))) {
		layout_apply(l, &step);
		out->after -= step.gain;
		out->step[out->n++] = step;
	}
}
