/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LAUNCH_PREPARE_IMPL_H
#define NODEOS_LAUNCH_PREPARE_IMPL_H

/*
 * Shared by the files of step_prepare(): prepare.c calls the others, each of which does one thing.
 */

#include "container/mems.h"
#include "jobplan/job_plan.h"
#include "jobplan/planner_input.h"
#include "launch/step_impl.h"

/* The state of the node and the job, as step_prepare() finds it. */
struct node_view {
	struct cgroup_place place;
	struct idset job_cpus;
	struct idset job_mems;
	/* memory nodes of JOB_MEMS that have CPUs, for ranks outside of containers */
	struct idset rest_mems;
	struct idset node_cpus;
	bool alone; /* the job has every CPU of the node except the ServiceOS's */
	/* request of the job or the step; NULL: neither has one */
	const struct request *request;
	const char *request_text;
	bool of_step; /* REQUEST is that of a step container */
	enum guarantee guarantee;
	struct mems_in_use held;
	struct idset dirty; /* free blocks that contain files */
};

/* plan_round.c */

int prepare_plan_and_choose(struct step *s, struct node_view *v, struct errbuf *err);

/* choose.c */

/* Return the CPUs that Slurm gave: to the step if it has its own containers, else to the job. */
const struct idset *prepare_slurm_cpus(const struct step *s, const struct node_view *v);

/* On a node with blocks, give the job's share to ranks without memory nodes of their own. */
void prepare_share_mems(struct step *s, const struct node_view *v, const struct job_plan *plan,
			struct ledger_job *job);

/* Choose every rank's place. Ranks for which the user names no container all get the same place. */
int prepare_choose(struct step *s, const struct node_view *v, const struct job_plan *plan,
		   const struct ledger_job *job, struct errbuf *err);

/* Can the step's containers exist beside the live ones of JOB and of the node? */
int prepare_accept(struct step *s, const struct node_view *v, const struct ledger_job *job,
		   struct errbuf *err);

int prepare_keep_cores(struct step *s, const struct node_view *v, const struct job_plan *plan,
		       struct errbuf *err);

/* refuse.c */

int prepare_refuse_no_block(const struct step *s, const struct node_view *v, struct errbuf *err);

/*
 * Append to the error what the planner does not know: which CPUs or memory nodes are available, and
 * how to get more. Returns -1.
 */
int prepare_append_available(const struct step *s, const struct node_view *v,
			     const struct plan_input *in, struct errbuf *err);

/* Set the error for planning without any free CPU. Returns -1. */
int prepare_refuse_no_cpu(const struct step *s, const struct node_view *v, struct errbuf *err);

#endif
