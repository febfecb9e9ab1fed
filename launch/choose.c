/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Choose the container, CPUs and memory nodes of each part (group of ranks) of a step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "container/ledger.h"
#include "container/mems.h"
#include "host/cpu_domains.h"
#include "launch/prepare_impl.h"

const struct idset *prepare_slurm_cpus(const struct step *s, const struct node_view *v)
{
	return v->of_step ? &s->step_cpus : &v->job_cpus;
}

static int fill_named(struct step_part *p, const struct step *s, const struct node_view *v,
		      const struct job_plan *plan, const struct planned_container *c,
		      struct errbuf *err)
{
	const struct reported_container reported = {
		.ask = &v->request->container[c - plan->container],
		.got = c,
		.conf = &s->conf,
		.node = { .alone = v->alone,
			  .policy_known = true,
			  .guarantee = v->guarantee,
			  .usable = blocks_usable(&s->blocks, &c->mems) },
	};
	struct isolator_outcome o[OUTCOMES_MAX];
	struct isolator_step step;
	struct isolator_part part;
	unsigned n;

	p->kind = STEP_NAMED;
	snprintf(p->container, sizeof(p->container), "%s", c->name);
	n = isolators_outcome(o, &reported);
	for (unsigned i = 0; i < n; i++)
		if (o[i].outcome != OUTCOME_IGNORED && o[i].outcome > p->outcome) {
			p->outcome = o[i].outcome;
			snprintf(p->why, sizeof(p->why), "%s", o[i].reason);
		}
	step_isolators(&step, s, v);
	step_isolator_part(&part, p, v);
	part.plan = c;
	return isolators_give(&step, &part, err);
}

static void fill_rest(struct step_part *p, const struct step *s, const struct node_view *v,
		      const struct job_plan *plan, const struct ledger_job *job)
{
	/* a step with its own containers has only its own CPUs, not all of the job's */
	const struct idset *whole = v->of_step ? &s->step_cpus : &v->job_cpus;
	struct idset left = v->rest_mems;
	struct idset held;

	p->kind = STEP_REST;
	idset_zero(&held);
	job_plan_reserved(plan, &held);
	p->given.cpus = *whole;
	idset_andnot(&p->given.cpus, &held);
	if (idset_empty(&p->given.cpus)) {
		p->given.cpus = *whole;
		p->shares_all = true;
	}
	if (!idset_subset(&p->given.cpus, &s->service.cpus))
		idset_andnot(&p->given.cpus, &s->service.cpus);
	/* partitions are exclusive, and one core of the job stays outside of all partitions */
	for (unsigned i = 0; i < job->n_steps; i++)
		if (job->step[i].inode != s->step_inode &&
		    job->step[i].partition != PARTITION_MEMBER)
			idset_andnot(&p->given.cpus, &job->step[i].partition_cpus);
	if (idset_empty(&p->given.cpus)) {
		p->given.cpus = v->job_cpus;
		for (unsigned i = 0; i < job->n_steps; i++)
			if (job->step[i].inode != s->step_inode &&
			    job->step[i].partition != PARTITION_MEMBER)
				idset_andnot(&p->given.cpus, &job->step[i].partition_cpus);
	}
	idset_zero(&held);
	job_plan_mems(plan, true, &held);
	if (s->service.own_mems)
		idset_or(&held, &s->service.mems);
	idset_andnot(&left, &held);
	if (idset_empty(&left) && s->service.own_mems) {
		left = v->rest_mems; /* none is left: share those of containers */
		idset_andnot(&left, &s->service.mems);
	}
	if (!idset_empty(&held) && !idset_empty(&left)) {
		p->given.bind_mems = true;
		p->given.mems = left;
	}
}

/*
 * Refuse --nodeos-container=NAME in a job without containers. If a step has a container NAME of its
 * own, say so.
 */
static int no_container(const struct ledger_job *job, const char *name, struct errbuf *err)
{
	for (unsigned i = 0; i < job->n_steps; i++)
		if (job->step[i].plan && job_plan_find(job->step[i].plan, name))
			return errprintf(err,
					 "--nodeos-container=%.64s: the options of step %u's srun "
					 "made this container: no other step can join it; sbatch "
					 "and salloc make containers for all steps",
					 name, job->step[i].step_id);
	return errprintf(err, "--nodeos-container=%.64s: this job has no containers on this node",
			 name);
}

/*
 * Write a note to S: the step was started without the environment of its job, so it selects no
 * container; the note lists the containers.
 */
static void note_rest(struct step *s, const struct job_plan *plan)
{
	errprintf(
		&s->note,
		"this step was started without the environment of its job and selects no "
		"container, so it runs outside of them; to join one, use --nodeos-container= with "
		"one of:");
	for (unsigned i = 0; i < plan->n; i++)
		if (!plan->container[i].deleted)
			errappend(&s->note, " %.64s", plan->container[i].name);
}

/* The containers among which ranks choose, and the state of the node. */
struct choice_under {
	const struct node_view *view;
	const struct job_plan *plan; /* NULL: no plan */
	const struct ledger_job *job;
};

/* Fill *P with the place that NAME selects (NULL: no name was given). */
static int fill_part(struct step_part *p, struct step *s, const struct choice_under *under,
		     const char *name, struct errbuf *err)
{
	const struct node_view *v = under->view;
	const struct job_plan *plan = under->plan;
	const struct planned_container *c;

	memset(p, 0, sizeof(*p));
	p->given.cpus = v->job_cpus;
	p->given.mems = v->job_mems;
	p->kind = STEP_NONE;
	if ((name && strcmp(name, CHOICE_NONE) == 0) || (!plan && !name))
		return 0;
	if (!plan)
		return no_container(under->job, name, err);
	c = name ? job_plan_find(plan, name)
	    : plan->n == 1 && !plan->container[0].deleted && !s->from_ledger ? &plan->container[0]
									     : NULL;
	if (c && c->deleted)
		return errprintf(
			err, "container %s of this job was deleted on this node (nodeosctl delete)",
			name);
	if (c)
		return fill_named(p, s, v, plan, c, err);
	if (name)
		return request_no_such(v->request, name, err);
	fill_rest(p, s, v, plan, under->job);
	if (s->from_ledger)
		note_rest(s, plan);
	return 0;
}

/* Return the index of the part with P's place; add P if there is none. */
static unsigned choose_add_part(struct step_shared *sh, const struct step_part *p)
{
	unsigned i = 0;

	while (i < sh->n_parts && strcmp(step_part_word(&sh->part[i]), step_part_word(p)) != 0)
		i++;
	if (i == sh->n_parts)
		sh->part[sh->n_parts++] =
			*p; /* fits: there is at most one part for each container, "-" and "none" */
	return i;
}

void prepare_share_mems(struct step *s, const struct node_view *v, const struct job_plan *plan,
			struct ledger_job *job)
{
	const struct mems_given given = { s->in.job_memory, &v->job_cpus, &v->job_mems };

	for (unsigned i = 0; i < s->shared->n_parts; i++) {
		struct step_part *p = &s->shared->part[i];
		const struct planned_container *c =
			p->kind == STEP_NAMED ? job_plan_find(plan, p->container) : NULL;

		p->given.own_blocks = c && c->confined;
		if (p->given.own_blocks)
			continue;
		if (idset_empty(&job->share))
			mems_share(job, &s->blocks, &v->held, plan, &given, &s->service);
		p->given.mems = idset_empty(&job->share) ? s->blocks.homes : job->share;
		p->given.bind_mems = p->kind != STEP_NONE;
	}
}

int prepare_choose(struct step *s, const struct node_view *v, const struct job_plan *plan,
		   const struct ledger_job *job, struct errbuf *err)
{
	const struct choice_under under = { v, plan, job };
	struct step_shared *sh = s->shared;
	const char *name, *last = NULL;
	struct step_part part;

	sh->own_container = v->of_step;
	sh->n_parts = 0;
	for (unsigned i = 0; i < s->in.n_ranks; i++) {
		name = s->choice ? choice_of(s->choice, sh->rank[i].global_rank) : NULL;
		if (i == 0 || name != last) {
			if (fill_part(&part, s, &under, name, err) < 0)
				return -1;
			sh->rank[i].part = choose_add_part(sh, &part);
		} else {
			sh->rank[i].part = sh->rank[i - 1].part;
		}
		last = name;
		sh->part[sh->rank[i].part].n_ranks++;
	}
	return 0;
}

int prepare_accept(struct step *s, const struct node_view *v, const struct ledger_job *job,
		   struct errbuf *err)
{
	struct isolator_part part[STEP_PARTS_MAX];
	struct isolator_step step;

	step_isolator_parts(&step, part, s, v);
	for (unsigned i = 0; i < step.n; i++)
		if (part[i].ask && isolators_accept(&step, &part[i], job, err) < 0)
			return -1;
	return 0;
}

int prepare_keep_cores(struct step *s, const struct node_view *v, const struct job_plan *plan,
		       struct errbuf *err)
{
	/*
	 * without a plan there is no rank map: one entry with all CPUs of the job stands for its
	 * cores
	 */
	s->n_cores = plan ? plan->n_cores : 1;
	s->core = calloc(s->n_cores ? s->n_cores : 1, sizeof(*s->core));
	if (!s->core)
		return errprintf(err, "out of memory");
	if (!plan) {
		s->core[0] = v->job_cpus;
		return 0;
	}
	memcpy(s->core, plan->core, s->n_cores * sizeof(*s->core));
	return cpu_domains_read(&s->domain, &s->n_domains, "", &v->job_cpus, err);
}
