/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The isolator partition: a step becomes a cpuset partition, whose CPUs are exclusive. The kernel
 * also excludes CPUs of an isolated partition from its load balancing.
 */
#include <stdio.h>

#include "container/hpc_reserve.h"
#include "container/isolator.h"
#include "container/partitions.h"
#include "container/step_id.h"

static int partition_allowed(const struct requested_container *ask, const struct conf *conf,
			     const char *conf_path, struct errbuf *err)
{
	if (conf_allows_partition(conf, ask->partition))
		return 0;
	return errprintf(err,
			 "container %s: partition \"%s\" is not allowed at this site "
			 "(allow_partitions in %s)",
			 ask->name, partition_name(ask->partition), conf_path);
}

static bool partition_alone(const struct requested_container *ask, const struct conf *conf,
			    bool of_srun)
{
	struct sched_given got;

	outcome_sched(&got, ask, conf, true);
	return of_srun && got.partition != PARTITION_MEMBER;
}

/*
 * If a partition replaces policy hpc, take the first CPU out of the offer: slurmstepd and the job's
 * other processes use it. Keep it in the offer if the step's ranks need all CPUs of the job.
 */
static int partition_offer(struct isolator_planning *p, struct errbuf *err)
{
	struct sched_given got;
	bool all = false;
	unsigned need = 0;

	(void)err;
	for (unsigned i = 0; i < p->request->n; i++) {
		const struct requested_container *ask = &p->request->container[i];

		outcome_sched(&got, ask, p->conf, true);
		if (!got.for_hpc && !got.for_lwk)
			return 0;
		all = all || !ask->cpus;
		need += ask->cpus ? ask->cpus : p->wanted;
	}
	if (!all || !p->wanted || need >= idset_count(&p->cpus) ||
	    !idset_subset(p->job_cpus, &p->cpus))
		return 0;
	idset_del(&p->cpus, (unsigned)idset_next(p->job_cpus, -1));
	p->kept = HPC_KEPT_JOB;
	return 0;
}

static int partition_give(const struct isolator_step *s, struct isolator_part *p,
			  struct errbuf *err)
{
	struct sched_given got;

	(void)err;
	outcome_sched(&got, p->ask, s->conf, true);
	p->given->partition = got.partition;
	p->given->for_hpc = got.for_hpc || got.for_lwk;
	p->given->partition_cpus = p->plan->reserved;
	return 0;
}

/*
 * Set LEFT to the job's CPUs outside of P and of other steps' partitions. Returns -1 if another
 * step already runs in the container of P.
 */
static int left_of_job(struct idset *left, const struct isolator_step *s,
		       const struct isolator_part *p, const struct ledger_job *job,
		       const char *kind, struct errbuf *err)
{
	*left = *s->job_cpus;
	idset_andnot(left, &p->given->partition_cpus);
	for (unsigned i = 0; i < job->n_steps; i++) {
		const struct ledger_step *other = &job->step[i];

		if (other->inode == s->inode)
			continue;
		if (other->step_id < STEP_ID_INTERACTIVE && !s->own_container &&
		    ledger_step_in_job_plan(other, p->name))
			return errprintf(
				err,
				"container %s is %s partition, and step %u runs in it: run one "
				"step at a time in it",
				p->name, kind, other->step_id);
		if (other->partition != PARTITION_MEMBER)
			idset_andnot(left, &other->partition_cpus);
	}
	return 0;
}

/*
 * Check that the step has only one part, that no other step runs in its container, and that one
 * core of the job stays outside of all partitions.
 */
static int check_exclusive(const struct isolator_step *s, const struct isolator_part *p,
			   const struct ledger_job *job, const char *kind, struct errbuf *err)
{
	struct idset left;

	if (s->n > 1)
		return errprintf(err,
				 "container %s is to be %s partition; start a step whose ranks are "
				 "all in this container",
				 p->name, kind);
	if (left_of_job(&left, s, p, job, kind, err) < 0)
		return -1;
	if (idset_empty(&left))
		return errprintf(err,
				 "container %s: %s partition would take the job's last core on "
				 "this node; leave one core out of all partitions",
				 p->name, kind);
	if (partitions_check_alone(s->cgroup_fd, s->job_cgroup, &p->given->partition_cpus, err) < 0)
		return errwrap(err, "container %s: %s partition", p->name, kind);
	return 0;
}

/*
 * If a container with policy hpc has all CPUs of the job, and the step needs fewer, leave the first
 * CPU out of the partition. partition_offer() does the same for a container of one step.
 */
static void leave_first_out(const struct isolator_step *s, const struct isolator_part *p,
			    const struct ledger_job *job, const char *kind)
{
	struct rank_settings *g = p->given;
	struct errbuf ignored;
	struct idset left;
	unsigned first;

	if (p->ask->cpus || s->n > 1 || !s->wanted || s->wanted >= idset_count(&g->cpus) ||
	    left_of_job(&left, s, p, job, kind, &ignored) < 0 || !idset_empty(&left))
		return;
	first = (unsigned)idset_next(&g->partition_cpus, -1);
	idset_del(&g->partition_cpus, first);
	idset_del(&g->cpus, first);
}

static int partition_accept(const struct isolator_step *s, struct isolator_part *p,
			    const struct ledger_job *job, struct errbuf *err)
{
	struct rank_settings *g = p->given;
	const char *kind = g->partition == PARTITION_ISOLATED ? "an isolated" : "a root";
	bool guest = p->ask && p->ask->number[RANK_NUMBER_GUEST].set;
	struct errbuf why = { 0 };

	if (g->partition == PARTITION_MEMBER)
		return 0;
	if (s->step_id >= STEP_ID_INTERACTIVE) {
		g->partition = PARTITION_MEMBER;
		snprintf(g->no_partition, sizeof(g->no_partition),
			 "only steps of srun can be %s partition: this process is in "
			 "none",
			 kind);
		return 0;
	}
	if (!g->for_hpc)
		return check_exclusive(s, p, job, kind, err);
	leave_first_out(s, p, job, kind);
	if (check_exclusive(s, p, job, kind, &why) < 0) {
		g->partition = PARTITION_MEMBER;
		snprintf(g->no_partition, sizeof(g->no_partition), "%s: %.180s",
			 p->ask->lwk.memory ? "lwk"
			 : guest	    ? "guest"
					    : "policy \"hpc\"",
			 why.text);
	}
	return 0;
}

static void partition_asked(struct json_out *j, const struct requested_container *ask)
{
	if (ask->partition != PARTITION_MEMBER)
		jout_string(j, "partition", partition_name(ask->partition));
}

static void partition_report(struct json_out *j, const struct reported_container *c)
{
	struct sched_given got;

	outcome_sched(&got, c->ask, c->conf, c->node.policy_known);
	jout_string(j, "partition", partition_name(got.partition));
}

static void partition_text(FILE *f, const struct reported_container *c)
{
	struct sched_given got;

	outcome_sched(&got, c->ask, c->conf, c->node.policy_known);
	if (got.partition != PARTITION_MEMBER)
		fprintf(f, ", partition %s during a step of srun", partition_name(got.partition));
}

const struct isolator isolator_partition = {
	.allowed = partition_allowed,
	.alone = partition_alone,
	.offer = partition_offer,
	.give = partition_give,
	.accept = partition_accept,
	.asked = partition_asked,
	.report = partition_report,
	.text = partition_text,
	.drop = partitions_remove,
};
