/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_RESIZE_H
#define NODEOS_TOPOLOGY_RESIZE_H

#include "topology/plan.h"

struct machine; /* topology/machine.h */

/*
 * Grow or shrink an existing container. Its processes stay on the CPUs and memory nodes that it
 * keeps: a container that grows keeps all of them, and a container that shrinks gets no new ones.
 * Pure, like the planner.
 */
struct resize_ask {
	const char *name; /* borrowed; used in the explanation and in errors */
	struct idset cpus, reserved, mems; /* its present sets, as in plan_container */
	bool mems_confined;
	struct idset free_cpus; /* CPUs that it may take in addition; disjoint from RESERVED */
	struct idset free_mems;
	/* those of FREE_MEMS that containers of other jobs use, too: the last choice */
	struct idset mems_taken;
	/* requested usable hardware threads, rounded up to whole cores; 0: no change */
	unsigned want_cpus;
	unsigned smt; /* threads used per core; 0: all */
	/* as requested: with a word for spread, the CPUs that it gains or keeps are spread, too */
	enum placement_word placement;
	enum cores_word cores; /* fast or efficient: it gains no others */
	enum mems_kind mems_kind; /* MEMS_UNSET: its memory nodes stay */
	uint64_t want_mems; /* number of nodes, or bytes on them */
};

/*
 * The first word of plan_resize()'s explanation, OUT->why. In the ledger an explanation consists of
 * lines only, and this word identifies the lines of an earlier resize. With a new field instead, an
 * older plugin in a running step would refuse the whole entry.
 */
#define RESIZED "resized"

/*
 * Write the new sets to *OUT (the caller frees OUT->why). More CPUs come from the nearest domain
 * that has free ones: the L3 domains, NUMA localities and packages of its cores, then the rest of
 * the machine; within a domain the planner chooses. A smaller container keeps those of its cores
 * that the planner chooses for the new size. Fails with one line that gives what the container has
 * and could have; ERR's code is an enum plan_refusal.
 */
int plan_resize(struct plan_container *out, const struct machine *m, const struct resize_ask *ask,
		struct errbuf *err);

#endif
