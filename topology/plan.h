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
 * The planner chooses the CPUs and memory nodes of each container, from a machine, the sets that
 * are free and the requests, and explains its choice. It reads no files, clock or environment, so
 * the same input gives the same plan. doc/planner.md has the rules, the most important first.
 */

struct machine; /* topology/machine.h */

enum mems_kind {
	MEMS_UNSET, /* memory is not requested: plan_opts.default_mems decides */
	MEMS_COUNT, /* mems = a number of memory nodes */
	MEMS_SIZE, /* mems = bytes that the chosen nodes must hold together */
	MEMS_WANTS, /* plan_ask.want: amounts of memory by kind */
};

/* An amount of one kind of memory. */
struct mems_want {
	enum memory_kind kind;
	bool sized; /* true: AMOUNT is the bytes of all nodes; false: the number of nodes */
	uint64_t amount;
};

#define MEMS_WANTS_MAX MEMORY_KINDS /* each kind once */

enum mems_default {
	MEMS_ALL, /* every allowed memory node: the container is not confined */
	MEMS_LOCAL, /* the memory nodes local to the chosen cores */
	MEMS_ORDINARY, /* none: the caller binds the container to all ordinary nodes */
};

/* The request of one container. With MEMS_WANTS, it gets only memory of the kinds in WANT. */
struct plan_ask {
	const char *name; /* borrowed; used in the explanation and in errors */
	/* hardware threads to use; 0: every core that the other containers leave */
	unsigned cpus;
	unsigned smt; /* threads to use of each core; 0: all */
	enum mems_kind mems_kind;
	uint64_t mems;
	const struct mems_want *want; /* N_WANTS elements, borrowed; with MEMS_WANTS only */
	unsigned n_wants;
	enum placement_word placement;
	enum cores_word cores;
};

struct plan_opts {
	struct idset cpus; /* CPUs that containers may get, in the kernel's numbering */
	struct idset mems; /* memory nodes that containers may get */
	/* nodes of MEMS that containers of other jobs use; they are chosen last */
	struct idset mems_taken;
	enum mems_default default_mems;
};

/* A core of which plan_opts.cpus has hardware threads. */
struct plan_core {
	struct idset cpus; /* threads of the core that are in plan_opts.cpus */
	bool whole; /* all threads of the core are in plan_opts.cpus */
};

struct plan_container {
	struct idset cpus; /* hardware threads on which ranks may run */
	/* CPUS and their idle sibling threads: no other container gets any of these */
	struct idset reserved;
	struct idset mems;
	unsigned cpus_asked; /* cpus of the request, which may be 0 */
	/* number of CPUs in CPUS: the request, rounded up to whole cores */
	unsigned cpus_given;
	bool mems_confined; /* MEMS was chosen by count, size or locality; false: it is all nodes */
	/* mems_confined, and mems_taken or another container of this plan has a node of MEMS */
	bool mems_shared;
	/* the explanation: malloc'ed lines, separated by '\n' */
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
 * Plan N requests. On success, returns 0 with a new plan in *OUT (free it with plan_free()).
 * Otherwise returns -1 with one line in ERR: the container, its request, what is available and the
 * largest request that fits. The code of ERR is an enum plan_refusal.
 */
int plan_make(struct plan **out, const struct machine *m, const struct plan_opts *opts,
	      const struct plan_ask *ask, unsigned n, struct errbuf *err);
void plan_free(struct plan *p);

#endif
