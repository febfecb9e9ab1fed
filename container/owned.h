/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_OWNED_H
#define NODEOS_CONTAINER_OWNED_H

#include "container/node_state.h"

/* Where a container of a user's is; all pointers are into a node_state. */
struct owned {
	struct ledger_job *job;
	struct ledger_step *own; /* that has brought it, a step container; NULL: it is of the job plan */
	struct node_plan *plan;
	struct placed *container;
	const char *request; /* that it is of */
	uint64_t inode; /* that its plan lives as long as */
	const struct ledger_step *step; /* the last one that has ranks in it; NULL: none */
};

/*
 * The container NAME among the jobs of S, of which those of others are gone (node_state_keep). CGROUP: that of who asks, "" where
 * that is nowhere: all steps with containers of their options alone call them the same, and a rank of one means its own. Else it is the
 * last step's. -1 with the reason.
 */
int owned_find(struct owned *out, const struct node_state *s, const char *name, const char *cgroup, struct errbuf *err);

/*
 * The same one in a later look at the node: the container NAME of the plan that lives as long as INODE, whatever else has come meanwhile. -1: it
 * has gone, or was deleted.
 */
int owned_find_again(struct owned *out, const struct node_state *s, const char *name, uint64_t inode, struct errbuf *err);

#endif
