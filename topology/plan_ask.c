/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How one request applies to one core or memory node. */
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

int64_t plan_node_amount(const struct memnode *n, const struct plan_ask *ask)
{
	const uint64_t most = (uint64_t)INT64_MAX / IDSET_MAX;

	if (ask->mems_kind != MEMS_SIZE)
		return 1;
	return (int64_t)(n->usable < most ? n->usable : most);
}
