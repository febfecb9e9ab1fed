/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lets advice_oracle.py call advice_make(). A line of input:
 *   DEVILS POWER PARTING  EXACT_NODES EXACT_STATES AHEAD_NODES
 *   NODES (CPUS TAKEN POWERED OPEN GROUPS)...  CONTAINERS (CLASS NODE CPUS JOB TRAFFIC GROUPS)...
 * gives a line of output, "refused" or
 *   EXACT BEFORE AFTER  (KIND DEVIL FROM TO GAIN DEVILS POWER PARTING TURTLES...;)...
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "advice/advice.h"

#define MOST 4096

static int scan_node(struct advice_node *n)
{
	unsigned powered, open;

	if (scanf("%u %u %u %u %" SCNu64, &n->cpus, &n->taken, &powered, &open, &n->groups) != 5)
		return -1;
	n->powered = powered;
	n->open = open;
	return 0;
}

static int scan_container(struct advice_container *c)
{
	unsigned class;

	if (scanf("%u %u %u %" SCNu32 " %" SCNu32 " %" SCNu64, &class, &c->node, &c->cpus, &c->job,
		  &c->traffic, &c->groups) != 6)
		return -1;
	c->class = (enum rank_class) class;
	return 0;
}

static void print_advice(const struct advice *a)
{
	printf("%d %" PRId64 " %" PRId64, a->exact, a->before, a->after);
	for (unsigned i = 0; i < a->n; i++) {
		const struct advice_step *s = &a->step[i];

		printf(" %s %u %u %u %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
		       advice_kind_name(s->kind), s->devil, s->from, s->to, s->gain, s->devils,
		       s->power, s->parting);
		for (unsigned k = 0; k < s->n_turtles; k++)
			printf(" %u", s->turtle[k]);
		printf(" ;");
	}
	putchar('\n');
}

int main(void)
{
	static struct advice_node node[MOST];
	static struct advice_container container[MOST];
	static struct advice advice;
	struct advice_site site = { .node = node, .container = container };
	struct advice_weights *w = &site.weights;
	struct advice_search search;
	struct errbuf err = { 0 };

	while (scanf("%u %u %u %u %u %u %u", &w->devils, &w->power, &w->parting,
		     &search.exact_nodes, &search.exact_states, &search.ahead_nodes,
		     &site.n_nodes) == 7) {
		for (unsigned i = 0; i < site.n_nodes; i++)
			if (site.n_nodes > MOST || scan_node(&node[i]) < 0)
				return 2;
		if (scanf("%u", &site.n) != 1 || site.n > MOST)
			return 2;
		for (unsigned i = 0; i < site.n; i++)
			if (scan_container(&container[i]) < 0)
				return 2;
		if (advice_make(&advice, &site, &search, &err) < 0)
			puts("refused");
		else
			print_advice(&advice);
	}
	return 0;
}
