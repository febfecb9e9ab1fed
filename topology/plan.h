/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_PLAN_H
#define NODEOS_TOPOLOGY_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "base/placement_word.h"
#include "topology/memory_kind.h"
#include "topology/refusal.h"

/*
 * The planner chooses the CPUs and memory nodes of each container from a machine, a free set and
 * requests, and gives the reasons. Pure: no files, no clock, no environment; the same input gives
 * the same plan. doc/planner.md has the objective, in order.
 */

struct machine; /* topology/machine.h */

enum mems_kind {
	MEMS_UNSET, /* not requested: plan_opts.default_mems decides */
	MEMS_COUNT, /* mems = a number of memory nodes */
	MEMS_SIZE, /* mems = bytes that the chosen nodes must hold together */
	MEMS_WANTS, /* mems_want: amounts of memory by kind */
};

/* An amount of one kind of memory. */
struct mems_want {
	enum memory_kind kind;
	bool sized; /* AMOUNT is bytes that the nodes hold together, else a number of nodes */
	uint64_t amount;
};

#define MEMS_WANTS_MAX MEMORY_KINDS /* each kind once */

enum mems_default {
	MEMS_ALL, /* every allowed memory node: the container is not confined */
	MEMS_LOCAL, /* the memory nodes local to the chosen cores */
	MEMS_ORDINARY, /* all ordinary nodes: nothing is chosen, but the caller binds to these */
};

/* The request of one container. With wants, its memory nodes are of these kinds and no others. */
struct plan_ask {
	const char *name; /* borrowed; used in the explanation and in errors */
	/* usable hardware threads; 0 = every core that the other containers leave */
	unsigned cpus;
	unsigned smt; /* threads used per core; 0 = all of them */
	enum mems_kind mems_kind;
	uint64_t mems;
	const struct mems_want *want; /* N_WANTS elements, borrowed; with MEMS_WANTS only */
	unsigned n_wants;
	enum placement_word placement;
	enum cores_word cores;
};

struct plan_opts {
	struct idset cpus; /* CPUs that containers may get (ids as the kernel numbers them) */
	struct idset mems; /* memory nodes that containers may get */
	/* those of MEMS that containers of other jobs use: the last choice */
	struct idset mems_taken;
	enum mems_default default_mems;
};

/*
 * A core of the plan's CPUs: its hardware threads that lie in plan_opts.cpus, in the machine's
 * logical order. "whole" is false when threads of this core lie outside plan_opts.cpus.
 */
struct plan_core {
	struct idset cpus;
	bool whole;
};

struct plan_container {
	struct idset cpus; /* usable hardware threads: ranks may run on these */
	/* CPUS and their idle siblings (if SMT is less than all): no other container gets these */
	struct idset reserved;
	struct idset mems;
	unsigned cpus_asked; /* as requested; 0 stays 0 */
	/* == count of cpus; differs from the request when rounded up to whole cores */
	unsigned cpus_given;
	bool mems_confined; /* MEMS was chosen (by count, size or locality), and is not "all" */
	/* confined, and a node of MEMS is in mems_taken or in another container of this plan */
	bool mems_shared;
	/* malloc'ed lines, '\n' between them: the candidates, and the rule that decided */
	char *why;
};

struct plan {
	unsigned n;
	struct plan_container *container; /* n entries, in the order of the requests */
	struct idset free_cpus; /* plan_opts.cpus without the reserved CPUs of all containers */
	/* plan_opts.mems without the memory nodes of confined containers and without mems_taken */
	struct idset free_mems;
};

/*
 * Plan N requests. On success *OUT is a new plan (free with plan_free()). Fails with one line that
 * names the container, its need, what is available and the largest request that would fit; ERR's
 * code is an enum plan_refusal.
 */
int plan_make(struct plan **out, const struct machine *m, const struct plan_opts *opts,
	      const struct plan_ask *ask, unsigned n, struct errbuf *err);
void plan_free(struct plan *p);

#endif
