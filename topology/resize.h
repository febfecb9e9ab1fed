/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_RESIZE_H
#define NODEOS_TOPOLOGY_RESIZE_H

#include "topology/plan.h"

struct machine; /* topology/machine.h */

/*
 * A container that exists is to have more or less. What it keeps, its processes need not leave: one
 * that grows keeps all that it has, one that shrinks gets nothing new. Pure, as the planner.
 */
struct resize_ask {
	const char *name; /* borrowed; used in the explanation and in errors */
	struct idset cpus, reserved, mems; /* what it has, as in plan_container */
	bool mems_confined;
	struct idset free_cpus; /* what it may have, too; disjoint from reserved */
	struct idset free_mems;
	/* of these, what another job's containers use: last choice */
	struct idset mems_taken;
	/* usable hardware threads that it is to have, rounded up to whole cores; 0: as many as now
	 */
	unsigned want_cpus;
	unsigned smt; /* threads used per core; 0: all */
	enum mems_kind mems_kind; /* MEMS_UNSET: the memory nodes that it has */
	uint64_t want_mems; /* nodes, or bytes that they hold */
};

/*
 * The first word of the explanation, plan_resize()'s OUT->why. In the ledger an explanation has its
 * lines alone, so the lines of an earlier resize are known by it; a field for them would be one
 * that an older plugin, in a step that runs, refuses with all of the entry.
 */
#define RESIZED "resized"

/*
 * What it is to have -> *OUT (free OUT->why). More CPUs come from the nearest domain that has any:
 * the L3 domains, NUMA localities and packages of its cores, then the rest of the machine, and
 * within that as the planner would choose them. Of its own the planner's choice for the new size
 * stays. Fails with one line that says what it has and what it could have; ERR's code is an enum
 * plan_refusal.
 */
int plan_resize(struct plan_container *out, const struct machine *m, const struct resize_ask *ask,
		struct errbuf *err);

#endif
