/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/owned.h"

#include <string.h>

#include "host/cgroup.h"

static void owned_look_at(struct owned *f, struct ledger_job *job, struct ledger_step *own,
			  const char *name)
{
	struct job_plan *plan = own ? own->plan : job->plan;

	for (unsigned i = 0; plan && i < plan->n; i++)
		if (strcmp(plan->container[i].name, name) == 0)
			*f = (struct owned){ job,
					     own,
					     plan,
					     &plan->container[i],
					     own ? own->request : job->request,
					     own ? own->inode : job->inode,
					     own };
}

/* Look in the job plan. */
static void look_in_plan(struct owned *f, struct ledger_job *job, const char *name)
{
	owned_look_at(f, job, NULL, name);
	for (unsigned i = 0; f->container && i < job->n_steps; i++)
		if (ledger_step_in(&job->step[i], name))
			f->step = &job->step[i];
}

/* Look for the container with ranks of that step. */
static void look_in_step(struct owned *f, struct ledger_job *job, struct ledger_step *step,
			 const char *name)
{
	if (step->plan) {
		owned_look_at(f, job, step, name);
	} else if (ledger_step_in(step, name)) {
		owned_look_at(f, job, NULL, name);
		f->step = step;
	}
}

/* Look in one job: at the named step; without one at the last step's own container, or else at the
 * job plan. */
static void look_in_job(struct owned *f, struct ledger_job *job, const struct ask *a)
{
	for (unsigned i = 0; i < job->n_steps; i++)
		if (!a->step_given)
			owned_look_at(f, job, &job->step[i], a->container);
		else if (job->step[i].step_id == a->step)
			look_in_step(f, job, &job->step[i], a->container);
	if (!f->container && !a->step_given)
		look_in_plan(f, job, a->container);
}

/* Look in the step that CGROUP belongs to. */
static bool look_in_own(struct owned *out, const struct node_state *s, const char *name,
			const char *cgroup)
{
	for (unsigned i = 0; i < s->n_jobs; i++)
		for (unsigned k = 0; k < s->job[i]->n_steps; k++) {
			struct ledger_step *step = &s->job[i]->step[k];

			if (step->plan && cgroup_below(cgroup, step->cgroup))
				owned_look_at(out, s->job[i], step, name);
		}
	return out->container;
}

static int was_deleted(const char *name, const struct ledger_job *job, struct errbuf *err)
{
	return errprintf(err, "container %s of job %u was deleted on this node", name, job->job_id);
}

#define LISTED 8 /* steps in a message */

/* The steps with ranks in a container of the name, as Slurm's users write them: "7.0, 7.1". */
struct steps {
	unsigned n;
	char text[OWNED_STEPS_MAX];
};

_Static_assert(OWNED_STEPS_MAX >= LISTED * 24 + 8, "all listed steps fit");

/* A batch script may be in such a container, too, but has no step number. */
static void list_steps(struct steps *out, struct ledger_job *job, const char *name)
{
	for (unsigned i = 0; i < job->n_steps; i++) {
		struct owned f = { 0 };
		size_t len = strlen(out->text);

		look_in_step(&f, job, &job->step[i], name);
		if (!f.container || f.container->deleted || job->step[i].step_id > ASK_STEP_MAX ||
		    out->n++ > LISTED)
			continue;
		if (out->n <= LISTED)
			snprintf(out->text + len, sizeof(out->text) - len, "%s%u.%u",
				 len ? ", " : "", job->job_id, job->step[i].step_id);
		else
			snprintf(out->text + len, sizeof(out->text) - len, ", ...");
	}
}

unsigned owned_list_steps(char text[OWNED_STEPS_MAX], struct ledger_job *job, const char *name)
{
	struct steps steps = { .n = 0 };

	list_steps(&steps, job, name);
	strcpy(text, steps.text);
	return steps.n;
}

/*
 * Refuse if several steps have a container of this name and the caller is in none: it must name a
 * step, as it cannot know which one came last.
 */
static int check_one(const struct owned *f, const struct ask *a, struct errbuf *err)
{
	struct steps steps = { .n = 0 };

	/* a step's container cannot be deleted, whichever is found: the caller reports that */
	if (!f->own || a->step_given || a->operation == ASK_DELETE)
		return 0;
	list_steps(&steps, f->job, a->container);
	if (steps.n < 2)
		return 0;
	return errprintf(err,
			 "several steps have a container %s of their own here (%s): say which one "
			 "(--step=JOB.STEP)",
			 a->container, steps.text);
}

static int refuse_missing(const struct node_state *s, const struct ask *a, struct errbuf *err)
{
	struct steps steps = { .n = 0 };

	for (unsigned i = 0; a->step_given && i < s->n_jobs; i++)
		list_steps(&steps, s->job[i], a->container);
	if (steps.n)
		return errprintf(
			err,
			"step %u is in no container %s on this node (these steps are in one: %s)",
			a->step, a->container, steps.text);
	return errprintf(
		err,
		a->step_given
			? "no step of yours is in a container %s on this node (nodeosctl show "
			  "lists them)"
			: "you have no container %s on this node (nodeosctl show lists yours)",
		a->container);
}

int owned_find(struct owned *out, const struct node_state *s, const struct ask *a,
	       const char *cgroup, struct errbuf *err)
{
	const struct ledger_job *deleted = NULL;
	const char *name = a->container;

	memset(out, 0, sizeof(*out));
	if (!a->step_given && look_in_own(out, s, name, cgroup))
		return 0;
	for (unsigned i = 0; i < s->n_jobs; i++) {
		struct owned f = { 0 };

		look_in_job(&f, s->job[i], a);
		if (f.container && f.container->deleted) {
			deleted = f.job;
			continue;
		}
		if (f.container && out->container)
			return errprintf(err,
					 "jobs %u and %u both have a container %s here: say which "
					 "one (--job)",
					 out->job->job_id, f.job->job_id, name);
		if (f.container)
			*out = f;
	}
	if (!out->container && deleted)
		return was_deleted(name, deleted, err);
	return out->container ? check_one(out, a, err) : refuse_missing(s, a, err);
}

int owned_find_again(struct owned *out, const struct node_state *s, const char *name,
		     uint64_t inode, struct errbuf *err)
{
	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < s->n_jobs && !out->container; i++) {
		struct ledger_step *own = ledger_job_step(s->job[i], inode);

		if (own)
			owned_look_at(out, s->job[i], own, name);
		else if (s->job[i]->inode == inode)
			look_in_plan(out, s->job[i], name);
	}
	if (!out->container)
		return errprintf(err, "container %s has ended meanwhile, with its step or job",
				 name);
	return out->container->deleted ? was_deleted(name, out->job, err) : 0;
}
