/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LAUNCH_PREPARE_IMPL_H
#define NODEOS_LAUNCH_PREPARE_IMPL_H

/* What the files of step_prepare() share: prepare.c leads, the others do one thing each. */

#include "container/job_plan.h"
#include "container/mems.h"
#include "container/planner_input.h"
#include "launch/step_impl.h"

/* What step_prepare finds out, in one place. */
struct node_view {
	struct cgroup_place place;
	struct idset job_cpus;
	struct idset job_mems;
	/* of these, what ranks in no container may be bound to: none that is special */
	struct idset rest_mems;
	struct idset node_cpus;
	bool alone; /* the job holds every CPU of the node but the ServiceOS's */
	const struct request *request; /* the job's or the step's; NULL: neither */
	const char *request_text;
	bool of_step; /* request is a step container's */
	enum guarantee guarantee;
	struct mems_held held;
	struct idset dirty; /* blocks with memory in them that no process of a job explains */
};

/* plan_round.c */

int prepare_plan_and_choose(struct step *s, struct node_view *v, struct errbuf *err);

/* choose.c */

/* The CPUs that Slurm gave to whose containers are to be planned. */
const struct idset *prepare_given(const struct step *s, const struct node_view *v);

/* On a node with blocks: ranks without memory nodes of their own get the job's share. */
void prepare_share_mems(struct step *s, const struct node_view *v, const struct job_plan *plan,
			struct ledger_job *job);

/* Every rank's place. Of the ranks that nobody names, all go to the same. */
int prepare_choose(struct step *s, const struct node_view *v, const struct job_plan *plan,
		   const struct ledger_job *job, struct errbuf *err);

/* Can the step's containers be, beside what is live in JOB and on the node? */
int prepare_accept(struct step *s, const struct node_view *v, const struct ledger_job *job,
		   struct errbuf *err);

int prepare_keep_cores(struct step *s, const struct node_view *v, const struct job_plan *plan,
		       struct errbuf *err);

/* refuse.c */

int prepare_say_no_block_free(const struct step *s, const struct node_view *v, struct errbuf *err);

/* The planner knows nothing of steps and jobs: add whose CPUs it had, and how to get more. */
int prepare_say_what_there_is(const struct step *s, const struct node_view *v,
			      const struct plan_input *in, struct errbuf *err);

/* No CPU at all is left to plan with. */
int prepare_say_none_free(const struct step *s, const struct node_view *v, struct errbuf *err);

#endif
