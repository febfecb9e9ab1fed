/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_DECIDE_H
#define NODEOS_MIGRATION_DECIDE_H

#include "contention/observed.h"
#include "host/conf.h"
#include "migration/rebind.h"

/*
 * Which ranks of a job's containers on this host are to have other CPUs: of what is observed, the
 * job's entry in the ledger and nodeos.conf. No system call.
 */
#define DECIDE_WHY_MAX 160 /* bytes of a reason with the final NUL */

struct decision {
	/* bit I: container I of the plan is one of the group */
	uint64_t containers;
	enum contention_policy policy; /* that places them */
	bool contended; /* a domain of them is, or nodeos.conf does not ask */
	char why[DECIDE_WHY_MAX]; /* why ranks move, or none does */
	/* Tasks with several processes: "task_0: 4 processes move as one"; "": none. */
	char units[DECIDE_WHY_MAX];
	unsigned moves; /* ranks that move; REBIND is then what to do */
	struct rebind rebind; /* owned; see decision_free() */
};

struct decide_input {
	/* with its ranks loaded (ledger_step_load_ranks()), without those that have ended */
	struct ledger_job *job;
	struct ledger_step *own; /* whose containers; NULL: those of the job's plan */
	const struct observed_node *node;
	const struct conf *conf;
	double now; /* seconds, of the clock of observed_rank.moved */
};

/*
 * The policy of STEP's ranks in the container of which the request says ASK: that of the step's
 * option, or else the container's.
 */
enum contention_policy decide_policy(const struct observed_step *step,
				     const struct requested_container *ask,
				     const struct conf *conf);

/*
 * Write the groups of the plan's containers to GROUP, a bit for each container. Containers that one
 * policy places exchange cores, so they are a group: where none is a partition or is placed by
 * hpc:topo, none has a rank that its user has bound, all have the same number of threads of each
 * core, and each has memory nodes of each domain. Another container that is placed is a group of
 * its own. Returns how many there are; -1: out of memory.
 */
int decide_groups(uint64_t group[REQUEST_CONTAINERS_MAX], const struct decide_input *in);

/*
 * Fill *OUT for the containers of GROUP. Returns 0; -1: out of memory. A rank stays that its user
 * has bound (its CPUs are not those of the ledger), that has moved less than contention_min_move
 * seconds ago, that the policy hpc places itself (hpc:topo), or whose step says observe or off.
 */
int decide_group(struct decision *out, const struct decide_input *in, uint64_t group);
void decision_free(struct decision *d);

#endif
