/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/owned.h"

#include <string.h>

#include "container/cgroup.h"

static void look_at(struct owned *f, struct ledger_job *job, struct ledger_step *own, const char *name)
{
	struct node_plan *plan = own ? own->plan : job->plan;

	for (unsigned i = 0; plan && i < plan->n; i++)
		if (strcmp(plan->container[i].name, name) == 0)
			*f = (struct owned){ job, own, plan, &plan->container[i], own ? own->request : job->request, own ? own->inode : job->inode, own };
}

/* Of the job plan. */
static void look_in_plan(struct owned *f, struct ledger_job *job, const char *name)
{
	look_at(f, job, NULL, name);
	for (unsigned i = 0; f->container && i < job->n_steps; i++)
		if (ledger_step_in(&job->step[i], name))
			f->step = &job->step[i];
}

/* Of one job: the last step's own, or else that of the job plan. */
static void look_in_job(struct owned *f, struct ledger_job *job, const char *name)
{
	for (unsigned i = 0; i < job->n_steps; i++)
		look_at(f, job, &job->step[i], name);
	if (!f->container)
		look_in_plan(f, job, name);
}

/* Of the step that CGROUP is in. */
static bool look_in_own(struct owned *out, const struct node_state *s, const char *name, const char *cgroup)
{
	for (unsigned i = 0; i < s->n_jobs; i++)
		for (unsigned k = 0; k < s->job[i]->n_steps; k++) {
			struct ledger_step *step = &s->job[i]->step[k];

			if (step->plan && cgroup_below(cgroup, step->cgroup))
				look_at(out, s->job[i], step, name);
		}
	return out->container;
}

static int was_deleted(const char *name, const struct ledger_job *job, struct errbuf *err)
{
	return errprintf(err, "container %s of job %u was deleted on this node", name, job->job_id);
}

int owned_find(struct owned *out, const struct node_state *s, const char *name, const char *cgroup, struct errbuf *err)
{
	const struct ledger_job *deleted = NULL;

	memset(out, 0, sizeof(*out));
	if (look_in_own(out, s, name, cgroup))
		return 0;
	for (unsigned i = 0; i < s->n_jobs; i++) {
		struct owned f = { 0 };

		look_in_job(&f, s->job[i], name);
		if (f.container && f.container->deleted) {
			deleted = f.job;
			continue;
		}
		if (f.container && out->container)
			return errprintf(err, "jobs %u and %u both have a container %s here: say which one (--job)", out->job->job_id, f.job->job_id, name);
		if (f.container)
			*out = f;
	}
	if (!out->container && deleted)
		return was_deleted(name, deleted, err);
	if (!out->container)
		return errprintf(err, "you have no container %s on this node (nodeosctl show lists yours)", name);
	return 0;
}

int owned_find_again(struct owned *out, const struct node_state *s, const char *name, uint64_t inode, struct errbuf *err)
{
	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < s->n_jobs && !out->container; i++) {
		struct ledger_step *own = ledger_job_step(s->job[i], inode);

		if (own)
			look_at(out, s->job[i], own, name);
		else if (s->job[i]->inode == inode)
			look_in_plan(out, s->job[i], name);
	}
	if (!out->container)
		return errprintf(err, "container %s has ended meanwhile, with its step or job", name);
	return out->container->deleted ? was_deleted(name, out->job, err) : 0;
}
