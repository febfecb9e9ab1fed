/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_ADVICE_ADVICE_IMPL_H
#define NODEOS_ADVICE_ADVICE_IMPL_H

#include "advice/advice.h"

#define ADVICE_NONE UINT32_MAX
/* turtles of a node that are looked at for a swap: the first ones that are not alike */
#define ADVICE_TURTLES_MAX 16

/* A site with its containers somewhere. */
struct layout {
	const struct advice_site *site;
	int64_t apart; /* the cost of parting when no two containers share a node */
	/* the rest is in MEMORY, which is owned; of each node: */
	unsigned *used; /* CPUs, with those that are taken */
	unsigned *devils, *count; /* containers */
	unsigned *head; /* its first container, or ADVICE_NONE */
	unsigned *node_kind; /* the first node that is the same when both are idle */
	unsigned *seen; /* by NODE_KIND: scratch of layout_visit_steps() */
	/* of each container: */
	unsigned *node; /* where it is */
	unsigned *next; /* the next one there, by index, or ADVICE_NONE */
	unsigned *kind; /* the first container that is like it in all that counts */
	unsigned *pull; /* its part of advice_pair_traffic(), 0: it communicates with none */
	unsigned *memory;
};

/* Returns 0, or -1: no memory. Each container is where SITE has it. */
int layout_open(struct layout *l, const struct advice_site *site);
void layout_close(struct layout *l);
/* Put each container where TO says. */
void layout_set(struct layout *l, const unsigned *to);
int64_t layout_cost(const struct layout *l);
/* Do a step, which fits. */
void layout_apply(struct layout *l, const struct advice_step *s);
/* Undo the step that was done last. */
void layout_undo(struct layout *l, const struct advice_step *s);

typedef void step_visit(const struct advice_step *s, void *arg);
/* Call VISIT for each step with a gain that node FROM can take now; of steps alike, for one. */
void layout_visit_steps(const struct layout *l, unsigned from, step_visit *visit, void *arg);

/*
 * Whether A is to be chosen before B where both come to the same in the end: larger gain, then the
 * kinds in their order, fewer CPUs to move, and the order of indices.
 */
bool step_before(const struct layout *l, const struct advice_step *a, const struct advice_step *b);

/*
 * Find the best of all layouts that steps reach. Returns 1: done; 0: there are more of them than
 * STATES; -1: no memory.
 */
int advice_search_all(struct advice *out, struct layout *l, unsigned states);
/* Do one step after the other. AHEAD: choose each with the one behind it. */
void advice_search_greedy(struct advice *out, struct layout *l, bool ahead);

#endif
