/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_DECIDE_H
#define NODEOS_MIGRATION_DECIDE_H

#include "contention/observed.h"
#include "host/conf.h"
#include "migration/rebind.h"

/*
 * Decides which ranks of a job's containers on this host get other CPUs, from observations, the
 * job's entry in the ledger and nodeos.conf. No system call.
 */
#define DECIDE_WHY_MAX 160 /* bytes of a reason, including the final NUL */

/* The decision for one group of containers (decide_groups()). */
struct decision {
	/* the group; bit I: container I of the plan is in it */
	uint64_t containers;
	enum contention_policy policy; /* the policy that places these containers */
	bool contended; /* one of their domains is contended, or contention_when is always */
	char why[DECIDE_WHY_MAX]; /* why ranks move, or why none does */
	/*
	 * tasks with several processes, such as "task_0: 4 processes move as one", or "bound apart
	 * stay, as units of their own"; "": none
	 */
	char units[DECIDE_WHY_MAX];
	unsigned moves; /* number of ranks that move; if not 0, REBIND has the moves */
	struct rebind rebind; /* owned; see decision_free() */
};

struct decide_input {
	/* the job, whose ranks are loaded (ledger_step_load_ranks()), without ended ranks */
	struct ledger_job *job;
	/* the step that has the containers; NULL: they are those of the job's plan */
	struct ledger_step *own;
	const struct observed_node *node;
	const struct conf *conf;
	double now; /* seconds, by the clock of observed_rank.moved */
};

/*
 * Return the policy of STEP's ranks in the requested container ASK: the step's option, else the
 * container's policy, else that of CONF.
 */
enum contention_policy decide_policy(const struct observed_step *step,
				     const struct requested_container *ask,
				     const struct conf *conf);

/*
 * Write the groups of the plan's containers to GROUP, a bit for each container. The containers of a
 * group exchange cores. They are placed by the same policy and use the same number of threads of
 * each core; each of them
 *
 * - is no partition, and is not placed by hpc:topo;
 * - has no rank that its user has bound;
 * - has memory nodes of each domain in which the group has CPUs.
 *
 * Any other container that is placed is a group of its own. Returns the number of groups; -1: out
 * of memory.
 */
int decide_groups(uint64_t group[REQUEST_CONTAINERS_MAX], const struct decide_input *in);

/*
 * Fill *OUT for the containers of GROUP. Returns 0; -1: out of memory. A rank stays if
 *
 * - its user has bound it: it has other CPUs than in the ledger, and not only because a runtime has
 *   divided the rank's CPUs among its threads;
 * - it has moved less than contention_min_move seconds ago;
 * - hpc:topo places it;
 * - its step has the policy observe or off.
 *
 * The processes of a rank are one unit, with the worst of their classes. But if two of them may use
 * different CPUs, and all use only CPUs of the rank, each process is a unit of its own. Such a unit
 * stays where it is bound, and other ranks are placed beside it.
 */
int decide_group(struct decision *out, const struct decide_input *in, uint64_t group);
void decision_free(struct decision *d);

#endif
