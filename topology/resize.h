/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_RESIZE_H
#define NODEOS_TOPOLOGY_RESIZE_H

#include "topology/plan.h"

struct machine; /* topology/machine.h */

/*
 * A request to grow or shrink an existing container. A container that grows keeps all its CPUs and
 * memory nodes; one that shrinks gets no new ones.
 */
struct resize_ask {
	const char *name; /* borrowed; used in the explanation and in errors */
	struct idset cpus, reserved, mems; /* present sets, as in struct plan_container */
	bool mems_confined;
	struct idset free_cpus; /* CPUs that the container may also take, none of RESERVED */
	struct idset free_mems;
	/* nodes of FREE_MEMS that containers of other jobs use, too; they are chosen last */
	struct idset mems_taken;
	/* requested hardware threads, to be rounded up to whole cores; 0: no change */
	unsigned want_cpus;
	unsigned smt; /* threads to use of each core; 0: all */
	/* placement of the container: if it is a spread, CPUs are gained or kept spread, too */
	enum placement_word placement;
	enum cores_word cores; /* if fast or efficient, the container gains only such cores */
	enum mems_kind mems_kind; /* MEMS_UNSET: the memory nodes do not change */
	uint64_t want_mems; /* requested number of nodes, or bytes */
	bool by_kind; /* WANT_MEMS counts only nodes of KIND; all other nodes stay */
	enum memory_kind kind;
};

/*
 * The first word of the explanation of a resize, as plan_resize() writes it. The ledger keeps
 * explanations as lines of text, and this word marks the lines of an earlier resize. The ledger has
 * no field for it: an older plugin in a running step would refuse the whole entry.
 */
#define RESIZED "resized"

/*
 * Choose the new sets of the container and write them to *OUT; the caller frees OUT->why. Like the
 * planner, reads no files. A container that grows gets CPUs from the nearest domain that has free
 * ones: L3 domains, NUMA localities and packages of its cores, then the rest of the machine. Within
 * a domain the planner chooses. A container that shrinks keeps those of its cores that the planner
 * chooses for the new size. Returns 0, or -1 with one line that gives what the container has and
 * could have. The code of ERR is an enum plan_refusal.
 */
int plan_resize(struct plan_container *out, const struct machine *m, const struct resize_ask *ask,
		struct errbuf *err);

#endif
