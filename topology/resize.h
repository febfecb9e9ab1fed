/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_RESIZE_H
#define NODEOS_TOPOLOGY_RESIZE_H

#include "topology/plan.h"

struct machine; /* topology/machine.h */

/*
 * Grow or shrink an existing container. Its processes stay on what it keeps: a container that grows
 * keeps all it has, one that shrinks gets nothing new. Pure, as the planner.
 */
struct resize_ask {
	const char *name; /* borrowed; used in the explanation and in errors */
	struct idset cpus, reserved, mems; /* its present sets, as in plan_container */
	bool mems_confined;
	struct idset free_cpus; /* sets that it may take, too; disjoint from reserved */
	struct idset free_mems;
	/* free_mems that containers of other jobs use, too: the last choice */
	struct idset mems_taken;
	/* requested usable hardware threads, rounded up to whole cores; 0: as now */
	unsigned want_cpus;
	unsigned smt; /* threads used per core; 0: all */
	enum mems_kind mems_kind; /* MEMS_UNSET: its memory nodes stay */
	uint64_t want_mems; /* nodes, or bytes on them */
};

/*
 * The first word of plan_resize()'s explanation, OUT->why. In the ledger an explanation consists of
 * lines only, and this word identifies those of an earlier resize. A field for it would make an
 * older plugin, in a running step, refuse the whole entry.
 */
#define RESIZED "resized"

/*
 * Choose the new sets -> *OUT (free OUT->why). More CPUs come from the nearest domain that has any:
 * the L3 domains, NUMA localities and packages of its cores, then the rest of the machine; within a
 * domain the planner chooses. A smaller container keeps those of its cores that the planner chooses
 * for the new size. Fails with one line that says what the container has and could have; ERR's code
 * is an enum plan_refusal.
 */
int plan_resize(struct plan_container *out, const struct machine *m, const struct resize_ask *ask,
		struct errbuf *err);

#endif
