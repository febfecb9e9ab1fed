/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPUs: whole cores of the job that no other container has. */
#include "container/isolator.h"
#include "host/affinity.h"
#include "host/cgroup.h"

static int cpus_give(const struct isolator_step *s, struct isolator_part *p, struct errbuf *err)
{
	(void)s;
	(void)err;
	p->given->cpus = p->plan->cpus;
	p->given->sized = p->ask->cpus > 0;
	return 0;
}

/*
 * Add the CPUs of the step's containers to the step's directory; if the step also has ranks outside
 * of containers, add their CPUs, too. Remove no CPU: Slurm still binds later ranks to the step's
 * own CPUs.
 */
static int cpus_step(const struct isolator_step *s, struct errbuf *err)
{
	struct idset both = *s->step_cpus;

	for (unsigned i = 0; i < s->n; i++)
		if (!s->part[i].outside || s->n > 1)
			idset_or(&both, &s->part[i].given->cpus);
	if (idset_equal(&both, s->step_cpus))
		return 0;
	return cgroup_write_set(s->cgroup_fd, s->user, "cpuset.cpus", &both, err);
}

/*
 * Write the cpuset first, because that changes the task's mask. A rank outside of containers is
 * bound only if the step also has ranks in containers: Slurm may have bound it to a container's
 * core, and --cpu-bind cannot exclude a single rank. If all ranks of the step are outside, Slurm's
 * binding stays.
 */
static int cpus_rank(const struct isolator_step *s, const struct isolator_part *p, pid_t pid,
		     const char *task, struct errbuf *err)
{
	const struct idset *cpus = &p->given->cpus;

	if (p->outside)
		return s->n > 1 ? affinity_set(pid, cpus, err) : 0;
	if (cgroup_write_set(s->cgroup_fd, task, "cpuset.cpus", cpus, err) < 0)
		return -1;
	return affinity_set(pid, cpus, err);
}

/* Bind the rank again: the task_init of another plugin may have changed root's binding. */
static int cpus_enter(const struct rank_settings *g, const struct isolator_rank *r,
		      struct errbuf *err)
{
	(void)g;
	return affinity_set(0, r->chosen, err) < 0 && !r->shares_all ? -1 : 0;
}

static int cpus_verify(const struct rank_settings *g, const struct isolator_rank *r,
		       struct errbuf *err)
{
	(void)g;
	/* a partition made meanwhile may have taken CPUs of a rank that shares all of them */
	if (idset_equal(r->kernel_cpus, r->chosen) || r->shares_all)
		return 0;
	return errprintf(err, "rank %u: the kernel gave other CPUs than planned", r->number);
}

static void cpus_value(const struct rank_settings *g, const struct isolator_rank *r, char *buf,
		       size_t size)
{
	(void)g;
	idset_format(r->chosen, buf, size);
}

static void cpus_outcome(struct outcomes *o, const struct reported_container *j)
{
	struct isolator_outcome *mine = outcome_of(o, "container");
	unsigned given = idset_count(&j->got->cpus);

	/* after a resize, the size in the ledger's plan differs from the request */
	if (j->got->asked != j->ask->cpus)
		outcome_note(mine, OUTCOME_MODIFIED, "cpus: %u given after a resize", given);
	else if (j->ask->cpus && given != j->ask->cpus)
		outcome_note(mine, OUTCOME_MODIFIED, "cpus: %u asked, %u given (whole cores)",
			     j->ask->cpus, given);
}

static void cpus_asked(struct json_out *j, const struct requested_container *ask)
{
	if (ask->cpus)
		jout_number(j, "cpus", ask->cpus);
	else
		jout_string(j, "cpus", "all that is left");
	if (ask->smt)
		jout_number(j, "smt", ask->smt);
	if (ask->cores != CORES_UNSET)
		jout_string(j, "cores", cores_word_name(ask->cores));
}

static void cpus_report(struct json_out *j, const struct reported_container *c)
{
	jout_set(j, "cpus", &c->got->cpus);
	jout_set(j, "reserved", &c->got->reserved);
}

static void cpus_text(FILE *f, const struct reported_container *c)
{
	char list[IDSET_LIST_MAX];

	idset_format(&c->got->cpus, list, sizeof(list));
	fprintf(f, " cpus %s", list);
	idset_format(&c->got->reserved, list, sizeof(list));
	if (!idset_equal(&c->got->cpus, &c->got->reserved))
		fprintf(f, " (reserved %s)", list);
}

const struct isolator isolator_cpus = {
	.variable = "NODEOS_CPUS",
	.give = cpus_give,
	.step = cpus_step,
	.rank = cpus_rank,
	.enter = cpus_enter,
	.verify = cpus_verify,
	.value = cpus_value,
	.outcome = cpus_outcome,
	.asked = cpus_asked,
	.report = cpus_report,
	.text = cpus_text,
};
