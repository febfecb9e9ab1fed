/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scheduling policy of ranks, such as SCHED_HPC. */
#include <stdio.h>
#include <string.h>

#include "container/hpc_reserve.h"
#include "container/isolator.h"
#include "container/partitions.h"
#include "host/isolcpus.h"
#include "host/policy.h"

static int isolator_sched_refuse_policy(const struct requested_container *ask,
					const struct conf *conf, enum sched_policy p,
					const char *conf_path, struct errbuf *err)
{
	char allowed[128] = "";

	for (unsigned i = POLICY_OTHER; i < POLICY_COUNT; i++)
		if (conf_allows_policy(conf, i))
			snprintf(allowed + strlen(allowed), sizeof(allowed) - strlen(allowed),
				 "%s%s", *allowed ? ", " : "", policy_name(i));
	return errprintf(err,
			 "container %s: policy \"%s\" is not allowed at this site (allowed: %s; "
			 "%s)",
			 ask->name, policy_name(p), allowed, conf_path);
}

static int sched_allowed(const struct requested_container *ask, const struct conf *conf,
			 const char *conf_path, struct errbuf *err)
{
	struct sched_given got;

	outcome_sched(&got, ask, conf, false);
	if (!conf_allows_policy(conf, got.policy))
		return isolator_sched_refuse_policy(ask, conf, got.policy, conf_path, err);
	if (policy_is_realtime(got.policy) && got.priority > conf->max_rt_priority)
		return errprintf(err,
				 "container %s: priority %u is above this site's limit %u "
				 "(max_rt_priority in %s)",
				 ask->name, got.priority, conf->max_rt_priority, conf_path);
	return 0;
}

/*
 * With SCHED_HPC the job must have its CPUs alone: other jobs there would get only what the
 * kernel's fair server keeps for the fair class.
 */
static bool sched_alone(const struct requested_container *ask, const struct conf *conf,
			bool of_srun)
{
	struct sched_given got;

	(void)of_srun;
	outcome_sched(&got, ask, conf, true);
	return got.policy == POLICY_HPC;
}

static int sched_offer(struct isolator_planning *p, struct errbuf *err)
{
	p->outside = *p->node_cpus;
	/* the call reads every entry of the ledger, so make it only if needed */
	if (hpc_reserve_matters(p->request, p->conf)) {
		int any = hpc_take_live(&p->outside, p->ledger, p->step_inode, p->conf, err);

		if (any < 0)
			return -1;
		p->any_hpc = any;
	}
	if (hpc_keep_one(&p->cpus, &p->outside, p->request, p->conf, true))
		p->kept = HPC_KEPT;
	return 0;
}

/*
 * Check that a CPU of the node stays outside of SCHED_HPC, real time and partitions, including
 * those of other jobs.
 */
static int check_hpc(const struct isolator_planning *p, const struct job_plan *plan,
		     struct errbuf *err)
{
	struct idset left = p->outside;
	bool any = hpc_take(&left, p->request, plan, p->conf) || p->any_hpc;

	if (!any || !idset_empty(&left))
		return 0;
	return errprintf(err,
			 "no CPU of this node would be left outside of policy \"hpc\", real time "
			 "and partitions%s; leave one CPU out for the system",
			 p->any_hpc ? " (with those of other jobs and steps)" : "");
}

/*
 * Check that one core of the job has no real-time ranks, neither of this plan nor of other live
 * steps: the shell, slurmstepd and kernel threads run there.
 */
static int check_realtime(const struct isolator_planning *p, const struct job_plan *plan,
			  struct errbuf *err)
{
	struct idset left = *p->job_cpus;

	if (!realtime_take(&left, p->request, plan, p->conf))
		return 0;
	if (p->job && realtime_take_job(&left, p->job, p->step_inode, p->conf, err) < 0)
		return -1;
	if (!idset_empty(&left))
		return 0;
	errprintf(err, "real-time containers would take every core of the job on this node; leave "
		       "one core out of them");
	if (policy_is_realtime(p->conf->hpc_fallback) && !policy_supported(POLICY_HPC))
		errappend(err,
			  " (policy \"hpc\" is \"%s\" on this node, whose kernel has no such "
			  "class: hpc_fallback in %s)",
			  policy_name(p->conf->hpc_fallback), p->conf_path);
	return -1;
}

static int sched_planned(const struct isolator_planning *p, const struct job_plan *plan,
			 struct errbuf *err)
{
	/* P->OUTSIDE, which depends on other jobs, is known only while the plan is made */
	if (p->offered && check_hpc(p, plan, err) < 0)
		return -1;
	return check_realtime(p, plan, err);
}

static int sched_give(const struct isolator_step *s, struct isolator_part *p, struct errbuf *err)
{
	struct rank_settings *g = p->given;
	struct sched_given got;

	outcome_sched(&got, p->ask, s->conf, true);
	g->policy = got.policy;
	g->priority = got.priority;
	g->quantum = got.quantum;
	g->quantum_named = p->ask->quantum_named;
	if (policy_supported(g->policy))
		return 0;
	if (s->conf->strict)
		return errprintf(
			err,
			"container %s: policy \"%s\": this kernel has no such scheduling class: "
			"ask for a node that has it (--constraint=" HPC_FEATURE
			" if the site lists that feature), or for \"other\" (outcome: failed; "
			"strict=yes in %s)",
			p->name, policy_name(g->policy), s->conf_path);
	g->policy = POLICY_UNSET;
	return 0;
}

/* Refuse SCHED_HPC on CPUs that another job also has. */
static int sched_accept(const struct isolator_step *s, struct isolator_part *p,
			const struct ledger_job *job, struct errbuf *err)
{
	(void)job;
	if (p->given->policy != POLICY_HPC ||
	    partitions_check_jobs(s->cgroup_fd, s->job_cgroup, &p->given->cpus, err) == 0)
		return 0;
	return errwrap(err, "container %s: policy \"hpc\"", p->name);
}

static int sched_rank(const struct isolator_step *s, const struct isolator_part *p, pid_t pid,
		      const char *task, struct errbuf *err)
{
	const struct rank_settings *g = p->given;

	(void)s;
	(void)task;
	if (g->policy == POLICY_UNSET)
		return 0;
	return policy_apply(pid, g->policy, g->priority, g->quantum, err);
}

static int sched_verify(const struct rank_settings *g, const struct isolator_rank *r,
			struct errbuf *err)
{
	const char *now = policy_by_number(r->kernel_policy);

	/* with policy "other", or without a policy, a setting of another plugin stays */
	if (g->policy == POLICY_UNSET || g->policy == POLICY_OTHER ||
	    strcmp(now, policy_name(g->policy)) == 0)
		return 0;
	return errprintf(err, "rank %u has policy \"%s\", not \"%s\" as planned (another plugin?)",
			 r->number, now, policy_name(g->policy));
}

static void sched_value(const struct rank_settings *g, const struct isolator_rank *r, char *buf,
			size_t size)
{
	(void)g;
	snprintf(buf, size, "%s", policy_by_number(r->kernel_policy));
}

static void sched_outcome(struct outcomes *o, const struct reported_container *j)
{
	struct isolator_outcome *mine;
	struct sched_given got;

	outcome_sched(&got, j->ask, j->conf, j->node.policy_known);
	/* the site's default policy is reported only if this kernel lacks it */
	if (j->ask->policy == POLICY_UNSET && !got.fallback &&
	    (!j->node.policy_known || policy_supported(got.policy)))
		return;
	mine = outcome_of(o, "scheduler");
	if (got.for_hpc) {
		struct idset no_tick;
		char missing[128];

		nohz_full_read("", &no_tick);
		outcome_hpc_missing(missing, sizeof(missing), j->ask, &j->got->cpus, &no_tick);
		outcome_note(mine, OUTCOME_ENFORCED,
			     "by partition: this kernel has no scheduling policy \"hpc\" "
			     "(hpc_fallback)%s",
			     missing);
	} else if (got.fallback)
		outcome_note(mine, OUTCOME_MODIFIED,
			     "this kernel has no scheduling policy \"hpc\": \"%s\" instead "
			     "(hpc_fallback)",
			     policy_name(got.policy));
	else if (j->node.policy_known && !policy_supported(got.policy))
		outcome_note(mine, OUTCOME_FAILED, "this kernel has no scheduling policy \"%s\"",
			     policy_name(got.policy));
	else if (!j->node.policy_known && got.policy == POLICY_HPC)
		outcome_note(mine, OUTCOME_ENFORCED, "%s",
			     j->conf->hpc_partition ? "by a partition if the node's kernel lacks "
						      "this class (hpc_fallback)"
						    : "if the node's kernel has this class");
	else if (got.priority != j->ask->priority)
		outcome_note(mine, OUTCOME_MODIFIED, "priority: %u asked, %u given",
			     j->ask->priority, got.priority);
}

static void sched_asked(struct json_out *j, const struct requested_container *ask)
{
	if (ask->policy != POLICY_UNSET) {
		jout_string(j, "policy", policy_name(ask->policy));
		jout_number(j, "priority", ask->priority);
	}
	if (ask->quantum_named)
		jout_number(j, "quantum_ms", ask->quantum);
}

static void sched_report(struct json_out *j, const struct reported_container *c)
{
	struct sched_given got;

	outcome_sched(&got, c->ask, c->conf, c->node.policy_known);
	jout_string(j, "policy", policy_name(got.policy));
	jout_number(j, "priority", got.priority);
	outcome_hpc_json(j, got.policy, got.priority, got.quantum);
}

static void sched_text(FILE *f, const struct reported_container *c)
{
	struct sched_given got;

	outcome_sched(&got, c->ask, c->conf, c->node.policy_known);
	fprintf(f, " policy %s", policy_name(got.policy));
	if (got.policy == POLICY_HPC)
		fprintf(f, " (placement %s, quantum %u ms)", hpc_placement_name(got.priority),
			got.quantum);
	else if (got.priority)
		fprintf(f, " (priority %u)", got.priority);
}

/*
 * Check that after the change one CPU of the node stays outside of SCHED_HPC, and one core of the
 * job outside of real time.
 */
static int sched_resize(const struct isolator_change *c, struct errbuf *err)
{
	struct request one = { .n = 1, .container = { *c->ask } };
	struct job_plan plan = { .n = 1, .container = (struct planned_container *)c->next };
	struct idset outside = *c->node_cpus, left = *c->job_cpus;
	struct sched_given got;
	int any;

	if (idset_subset(&c->next->reserved, &c->before->reserved))
		return 0;
	any = hpc_take_live(&outside, c->ledger, 0, c->conf, err);
	if (any < 0)
		return -1;
	if ((hpc_take(&outside, &one, &plan, c->conf) || any) && idset_empty(&outside))
		return errprintf(err,
				 "no CPU of this node would be left outside of policy \"hpc\", "
				 "real time and partitions; leave one CPU out for the system");
	outcome_sched(&got, c->ask, c->conf, true);
	idset_andnot(&left, &c->next->reserved);
	/*
	 * LEFT already lacks the new CPUs of this container; the call also removes its old CPUs,
	 * which is harmless
	 */
	if (policy_is_realtime(got.policy) && realtime_take_job(&left, c->job, 0, c->conf, err) < 0)
		return -1;
	if (policy_is_realtime(got.policy) && idset_empty(&left))
		return errprintf(err, "real-time containers would take every core of the job on "
				      "this node; leave one core out of them");
	if (got.policy == POLICY_HPC &&
	    partitions_check_jobs(c->cgroup_fd, c->job->cgroup, &c->next->cpus, err) < 0)
		return errwrap(err, "container %s: policy \"hpc\"", c->next->name);
	return 0;
}

const struct isolator isolator_sched = {
	.variable = "NODEOS_POLICY",
	.allowed = sched_allowed,
	.alone = sched_alone,
	.offer = sched_offer,
	.planned = sched_planned,
	.give = sched_give,
	.accept = sched_accept,
	.rank = sched_rank,
	.verify = sched_verify,
	.value = sched_value,
	.outcome = sched_outcome,
	.asked = sched_asked,
	.report = sched_report,
	.text = sched_text,
	.resize = sched_resize,
};
