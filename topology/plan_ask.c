/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a request means for one core or one memory node. */
#include "topology/plan_impl.h"

unsigned plan_width(const struct plan_ask *ask, unsigned threads)
{
	return ask->smt && ask->smt < threads ? ask->smt : threads;
}

bool plan_node_is_local(const struct memnode *n, const bool *core)
{
	for (unsigned c = n->first_core; c < n->end_core; c++)
		if (core[c])
			return true;
	return false;
}

unsigned plan_ask_wants(const struct plan_ask *ask)
{
	return ask->mems_kind == MEMS_WANTS ? ask->n_wants : ask->mems_kind != MEMS_UNSET;
}

void plan_ask_want(const struct plan_ask *ask, unsigned i, struct plan_want *out)
{
	out->ask = *ask;
	out->kind = PLAN_ORDINARY;
	if (ask->mems_kind != MEMS_WANTS)
		return;
	out->kind = (int)ask->want[i].kind;
	out->ask.mems_kind = ask->want[i].sized ? MEMS_SIZE : MEMS_COUNT;
	out->ask.mems = ask->want[i].amount;
}

/* Return whether the ordinary nodes are of KIND; if so, do not offer a driver's nodes of KIND. */
static bool is_ordinary_kind(const struct planner *p, int kind)
{
	for (unsigned i = 0; i < p->m->n_nodes; i++)
		if ((int)p->m->node[i].kind == kind && idset_has(&p->m->ordinary, p->m->node[i].os))
			return true;
	return false;
}

void plan_nodes_of(const struct planner *p, int kind, struct idset *out)
{
	*out = p->ordinary;
	if (kind == PLAN_ORDINARY || is_ordinary_kind(p, kind))
		return;
	machine_of_kind(p->m, (enum memory_kind)kind, out);
	idset_and(out, &p->mems);
}

int64_t plan_node_amount(const struct memnode *n, const struct plan_ask *ask)
{
	const uint64_t most = (uint64_t)INT64_MAX / IDSET_MAX;

	if (ask->mems_kind != MEMS_SIZE)
		return 1;
	return (int64_t)(n->usable < most ? n->usable : most);
}
