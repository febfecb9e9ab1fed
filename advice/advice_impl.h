/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_ADVICE_ADVICE_IMPL_H
#define NODEOS_ADVICE_ADVICE_IMPL_H

#include "advice/advice.h"

#define ADVICE_NONE UINT32_MAX
/* the most turtles of a node that a swap chooses from; at most ADVICE_SWAP_MAX of one kind */
#define ADVICE_TURTLES_MAX 16

/* A site, and where each of its containers is placed: now, or after some steps. */
struct layout {
	const struct advice_site *site;
	int64_t apart; /* the cost of parting when no two containers share a node */
	/* the arrays are parts of MEMORY, which is owned; for each node: */
	unsigned *used; /* CPUs of its containers, and advice_node.taken */
	unsigned *devils, *count; /* number of devils, and of all containers */
	unsigned *head; /* its first container, or ADVICE_NONE */
	unsigned *node_kind; /* the first node that equals this one when both are idle */
	unsigned *seen; /* scratch of layout_visit_steps(), indexed by NODE_KIND */
	/* for each container: */
	unsigned *node; /* the node that it is on */
	unsigned *next; /* the next container there in the order of indices, or ADVICE_NONE */
	unsigned *kind; /* the first container that a search need not distinguish from this one */
	unsigned *pull; /* traffic, 0 to ADVICE_UNIT; 0: no communication with other containers */
	unsigned *memory;
};

/* Begin with each container on the node that SITE says. Returns 0, or -1: no memory. */
int layout_open(struct layout *l, const struct advice_site *site);
void layout_close(struct layout *l);
/* Put each container on its node of TO. */
void layout_set(struct layout *l, const unsigned *to);
int64_t layout_cost(const struct layout *l);
/* Carry out a step, which must fit. */
void layout_apply(struct layout *l, const struct advice_step *s);
/* Undo the last step. */
void layout_undo(struct layout *l, const struct advice_step *s);

typedef void step_visit(const struct advice_step *s, void *arg);
/*
 * Call VISIT for each step that moves a devil away from node FROM with a gain. Of steps that differ
 * only in containers or idle nodes of one kind, visit one.
 */
void layout_visit_steps(const struct layout *l, unsigned from, step_visit *visit, void *arg);

/*
 * Return whether step A is better than step B. The larger gain is better; of equal gains the
 * earlier kind, then the step that moves fewer CPUs, then the one with the lower indices.
 */
bool step_before(const struct layout *l, const struct advice_step *a, const struct advice_step *b);

/*
 * Write the steps to the best of all layouts that steps can reach. Returns 1; 0: there are more
 * than STATES layouts, or too many steps; -1: no memory.
 */
int advice_search_all(struct advice *out, struct layout *l, unsigned states);
/*
 * Add steps to OUT while one has a gain. AHEAD: choose each step by its gain together with the best
 * step after it; otherwise choose the best step of the node with the most devils.
 */
void advice_search_greedy(struct advice *out, struct layout *l, bool ahead);

#endif
