/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_OWNED_H
#define NODEOS_CONTROL_OWNED_H

#include "control/protocol.h"
#include "report/node_state.h"

/* Where a container of a user's is; all pointers are into a node_state. */
struct owned {
	struct ledger_job *job;
	/* that has brought it, a step container; NULL: it is of the job plan */
	struct ledger_step *own;
	struct job_plan *plan;
	struct planned_container *container;
	const char *request; /* that it is of */
	uint64_t inode; /* that its plan lives as long as */
	/* that has ranks in it: the one that was asked for, or else the last one; NULL: none */
	const struct ledger_step *step;
};

/*
 * The container that A names, among the jobs of S, of which those of others are gone
 * (node_state_keep, node_state_look): with a step given, the one that this step's ranks are in.
 * CGROUP: that of who asks, "" where that is nowhere: all steps with containers of their options
 * alone call them the same, and a rank of one means its own. Who is in none of several has to say
 * which one he means. -1 with the reason.
 */
int owned_find(struct owned *out, const struct node_state *s, const struct ask *a,
	       const char *cgroup, struct errbuf *err);

/*
 * The same one in a later look at the node: the container NAME of the plan that lives as long as
 * INODE, whatever else has come meanwhile. -1: it has gone, or was deleted.
 */
int owned_find_again(struct owned *out, const struct node_state *s, const char *name,
		     uint64_t inode, struct errbuf *err);

#define OWNED_STEPS_MAX 256

/* The steps of JOB whose ranks are in a container NAME, into TEXT as in a message ("7.0, 7.1");
 * returns how many. */
unsigned owned_list_steps(char text[OWNED_STEPS_MAX], struct ledger_job *job, const char *name);

#endif
