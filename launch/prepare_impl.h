/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LAUNCH_PREPARE_IMPL_H
#define NODEOS_LAUNCH_PREPARE_IMPL_H

/* Shared by the files of step_prepare(): prepare.c leads, each other file does one thing. */

#include "container/job_plan.h"
#include "container/mems.h"
#include "container/planner_input.h"
#include "launch/step_impl.h"

/* All that step_prepare() finds out about the node and the job. */
struct node_view {
	struct cgroup_place place;
	struct idset job_cpus;
	struct idset job_mems;
	/* the nodes of JOB_MEMS for ranks outside of containers: no special memory */
	struct idset rest_mems;
	struct idset node_cpus;
	bool alone; /* the job has every CPU of the node but the ServiceOS's */
	/* the request of the job or the step; NULL: neither has one */
	const struct request *request;
	const char *request_text;
	bool of_step; /* REQUEST is a step container's */
	enum guarantee guarantee;
	struct mems_held held;
	struct idset dirty; /* free blocks that are not empty */
};

/* plan_round.c */

int prepare_plan_and_choose(struct step *s, struct node_view *v, struct errbuf *err);

/* choose.c */

/* The CPUs that Slurm gave to the job or step whose containers are planned. */
const struct idset *prepare_given(const struct step *s, const struct node_view *v);

/* On a node with blocks: give ranks without memory nodes of their own the job's share. */
void prepare_share_mems(struct step *s, const struct node_view *v, const struct job_plan *plan,
			struct ledger_job *job);

/* Choose every rank's place. Ranks without a name all go to the same one. */
int prepare_choose(struct step *s, const struct node_view *v, const struct job_plan *plan,
		   const struct ledger_job *job, struct errbuf *err);

/* Can the step's containers exist beside the live ones of JOB and of the node? */
int prepare_accept(struct step *s, const struct node_view *v, const struct ledger_job *job,
		   struct errbuf *err);

int prepare_keep_cores(struct step *s, const struct node_view *v, const struct job_plan *plan,
		       struct errbuf *err);

/* refuse.c */

int prepare_say_no_block_free(const struct step *s, const struct node_view *v, struct errbuf *err);

/*
 * Append the available CPUs and how to get more, which the planner does not know, to the error.
 * Returns -1.
 */
int prepare_say_what_there_is(const struct step *s, const struct node_view *v,
			      const struct plan_input *in, struct errbuf *err);

/* Write the error for planning without any free CPU. Returns -1. */
int prepare_say_none_free(const struct step *s, const struct node_view *v, struct errbuf *err);

#endif
