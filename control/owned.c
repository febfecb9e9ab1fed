/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/owned.h"

#include <string.h>

#include "host/cgroup.h"

static void owned_search(struct owned *f, struct ledger_job *job, struct ledger_step *own,
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

/* Search the job plan. */
static void search_plan(struct owned *f, struct ledger_job *job, const char *name)
{
	owned_search(f, job, NULL, name);
	for (unsigned i = 0; f->container && i < job->n_steps; i++)
		if (ledger_step_in(&job->step[i], name))
			f->step = &job->step[i];
}

/* Search for the container NAME with ranks of STEP. */
static void search_step(struct owned *f, struct ledger_job *job, struct ledger_step *step,
			const char *name)
{
	if (step->plan) {
		owned_search(f, job, step, name);
	} else if (ledger_step_in(step, name)) {
		owned_search(f, job, NULL, name);
		f->step = step;
	}
}

/*
 * Search one job. If A names a step, search that step; otherwise search the last step with its own
 * container, or else the job plan.
 */
static void search_job(struct owned *f, struct ledger_job *job, const struct ask *a)
{
	for (unsigned i = 0; i < job->n_steps; i++)
		if (!a->step_given)
			owned_search(f, job, &job->step[i], a->container);
		else if (job->step[i].step_id == a->step)
			search_step(f, job, &job->step[i], a->container);
	if (!f->container && !a->step_given)
		search_plan(f, job, a->container);
}

/* Search the step to which CGROUP belongs. */
static bool search_own_step(struct owned *out, const struct node_state *s, const char *name,
			    const char *cgroup)
{
	for (unsigned i = 0; i < s->n_jobs; i++)
		for (unsigned k = 0; k < s->job[i]->n_steps; k++) {
			struct ledger_step *step = &s->job[i]->step[k];

			if (step->plan && cgroup_below(cgroup, step->cgroup))
				owned_search(out, s->job[i], step, name);
		}
	return out->container;
}

static int was_deleted(const char *name, const struct ledger_job *job, struct errbuf *err)
{
	return errprintf(err, "container %s of job %u was deleted on this node", name, job->job_id);
}

#define LISTED 8 /* steps in a message */

/* The steps that have ranks in containers of one name, as Slurm shows them to users: "7.0, 7.1". */
struct steps {
	unsigned n;
	char text[OWNED_STEPS_MAX];
};

_Static_assert(OWNED_STEPS_MAX >= LISTED * 24 + 8, "all listed steps fit");

/*
 * Add the steps of JOB to OUT. A batch script in a container is left out, because it has no step
 * number.
 */
static void list_steps(struct steps *out, struct ledger_job *job, const char *name)
{
	for (unsigned i = 0; i < job->n_steps; i++) {
		struct owned f = { 0 };
		size_t len = strlen(out->text);

		search_step(&f, job, &job->step[i], name);
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
 * Fail if several steps have a container of this name and the caller is in none of them. Then the
 * caller must name a step, because it cannot know which step came last.
 */
static int check_one(const struct owned *f, const struct ask *a, struct errbuf *err)
{
	struct steps steps = { .n = 0 };

	/*
	 * for a deletion any of these step containers will do: the caller refuses to delete step
	 * containers
	 */
	if (!f->own || a->step_given || a->operation == ASK_DELETE)
		return 0;
	list_steps(&steps, f->job, a->container);
	if (steps.n < 2)
		return 0;
	return errprintf(err,
			 "several steps have a container %s of their own here (%s): name one "
			 "(--step=JOB.STEP)",
			 a->container, steps.text);
}

static int refuse_missing(const struct node_state *s, const struct ask *a, struct errbuf *err)
{
	struct steps steps = { .n = 0 };

	for (unsigned i = 0; a->step_given && i < s->n_jobs; i++)
		list_steps(&steps, s->job[i], a->container);
	if (steps.n)
		return errprintf(err,
				 "step %u is in no container %s on this node (steps that are: %s)",
				 a->step, a->container, steps.text);
	return errprintf(
		err,
		a->step_given
			? "you have no step in a container %s on this node (nodeosctl show "
			  "lists your containers)"
			: "you have no container %s on this node (nodeosctl show lists yours)",
		a->container);
}

int owned_find(struct owned *out, const struct node_state *s, const struct ask *a,
	       const char *cgroup, struct errbuf *err)
{
	const struct ledger_job *deleted = NULL;
	const char *name = a->container;

	memset(out, 0, sizeof(*out));
	if (!a->step_given && search_own_step(out, s, name, cgroup))
		return 0;
	for (unsigned i = 0; i < s->n_jobs; i++) {
		struct owned f = { 0 };

		search_job(&f, s->job[i], a);
		if (f.container && f.container->deleted) {
			deleted = f.job;
			continue;
		}
		if (f.container && out->container)
			return errprintf(err,
					 "jobs %u and %u both have a container %s here: name "
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
			owned_search(out, s->job[i], own, name);
		else if (s->job[i]->inode == inode)
			search_plan(out, s->job[i], name);
	}
	if (!out->container)
		return errprintf(err, "container %s has ended meanwhile, with its step or job",
				 name);
	return out->container->deleted ? was_deleted(name, out->job, err) : 0;
}
