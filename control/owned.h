/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_OWNED_H
#define NODEOS_CONTROL_OWNED_H

#include "control/protocol.h"
#include "report/node_state.h"

/* A container of a user. All pointers point into a node_state. */
struct owned {
	struct ledger_job *job;
	/*
	 * the step for which the container was made, if it is a step container; NULL: it belongs to
	 * the job plan
	 */
	struct ledger_step *own;
	struct job_plan *plan;
	struct planned_container *container;
	const char *request; /* the request that has this container */
	uint64_t inode; /* inode of the directory whose removal ends the plan */
	/* the step that was named, or else the last step with ranks in the container; NULL: none */
	const struct ledger_step *step;
};

/*
 * Find the container that A names among the jobs of S, all of which are the user's
 * (node_state_keep, node_state_look). If A names a step, find the container with ranks of this
 * step. All step containers from options have the same name: a caller in such a step gets the
 * container of its own step, and another caller must name a step if there are several. CGROUP is
 * the caller's cgroup, "" outside of jobs. Returns 0, or -1 with the reason.
 */
int owned_find(struct owned *out, const struct node_state *s, const struct ask *a,
	       const char *cgroup, struct errbuf *err);

/*
 * Find the same container in a later snapshot: NAME in the plan whose directory has INODE, even if
 * newer steps have a container of this name. Returns 0, or -1 with the reason if the container has
 * ended or was deleted.
 */
int owned_find_again(struct owned *out, const struct node_state *s, const char *name,
		     uint64_t inode, struct errbuf *err);

#define OWNED_STEPS_MAX 256

/*
 * Write the steps of JOB with ranks in a container NAME to TEXT, as "7.0, 7.1". Returns their
 * number.
 */
unsigned owned_list_steps(char text[OWNED_STEPS_MAX], struct ledger_job *job, const char *name);

#endif
