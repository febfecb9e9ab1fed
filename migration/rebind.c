/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "migration/rebind.h"

#include <stdlib.h>
#include <string.h>

#include "control/resize_ranks.h"

/*
 * Launches wait during a move, and users choose how many threads their ranks have and how often
 * their classes change. So a move that no user has requested gets less time than helper_timeout,
 * which a resize gets.
 */
#define LOCKED_SECONDS_MAX 4u

unsigned rebind_seconds(const struct rebind_host *h)
{
	return 2 * h->timeout + 1;
}

void rebind_free(struct rebind *r)
{
	for (unsigned i = 0; i < r->n; i++)
		free(r->place[i].rank);
	free(r->place);
	r->place = NULL;
	r->n = 0;
}

/* State of one rebind_ranks(): a group of ranks for each container. */
struct rebind_work {
	const struct rebind *r;
	const struct rebind_host *host;
	struct ledger *ledger;
	struct ledger_job *job;
	struct ledger_step *own;
	struct rank_group *group; /* one for each place of R */
	struct bind_time time;
};

static struct job_plan *rebind_plan(const struct rebind_work *w)
{
	return w->r->own_inode ? (w->own ? w->own->plan : NULL) : w->job->plan;
}

static struct planned_container *rebind_entry(const struct rebind_work *w, const char *name)
{
	struct job_plan *plan = rebind_plan(w);

	for (unsigned i = 0; plan && i < plan->n; i++)
		if (strcmp(plan->container[i].name, name) == 0 && !plan->container[i].deleted)
			return &plan->container[i];
	return NULL;
}

static const struct rebind_rank *rebind_rank_find(const struct rebind_place *p,
						  const struct rank_moved *m)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->rank[i].step_inode == m->step->inode &&
		    strcmp(p->rank[i].task, m->rank->task) == 0)
			return &p->rank[i];
	return NULL;
}

/*
 * Keep the ranks that P names in G, with their new CPUs. If the container gets other CPUs, P must
 * name all its ranks: none may stay on CPUs that the container gives away.
 */
static int rebind_select(const struct rebind_work *w, struct rank_group *g,
			 const struct rebind_place *p, struct errbuf *err)
{
	bool swaps = !idset_equal(&p->cpus, &p->next_cpus);
	unsigned kept = 0;

	for (unsigned i = 0; i < g->n; i++) {
		struct rank_moved *m = &g->moved[i];
		const struct rebind_rank *to = rebind_rank_find(p, m);

		if (!to && !swaps)
			continue;
		if (!to)
			return errprintf(err, "%s has started after the move was decided",
					 m->rank->task);
		if (!idset_equal(&m->now, &to->now) &&
		    !(w->r->again && idset_equal(&m->now, &to->next)))
			return errprintf(err, "%s has other CPUs by now", to->task);
		m->now = to->now;
		m->next = to->next;
		g->moved[kept++] = *m;
	}
	g->n = kept;
	return 0;
}

/* Load the ranks of the job. -1: a step is being launched, or an entry cannot be read. */
static int rebind_load(struct rebind_work *w, struct errbuf *err)
{
	for (unsigned i = 0; i < w->job->n_steps; i++) {
		if (w->job->step[i].launching)
			return errprintf(err, "a step of the job is being launched");
		if (ledger_step_load_ranks(&w->job->step[i], err) < 0)
			return -1;
		ledger_step_drop_ended(&w->job->step[i], w->host->cgroup_fd);
	}
	return 0;
}

static bool rebind_is(const struct rebind_work *w, const struct idset *has, const struct idset *now,
		      const struct idset *next)
{
	return idset_equal(has, now) || (w->r->again && idset_equal(has, next));
}

/* Fill the group of place I, and check that its CPUs are as R says. */
static int rebind_group(struct rebind_work *w, unsigned i, struct errbuf *err)
{
	const struct rebind_place *p = &w->r->place[i];
	const struct planned_container *c = rebind_entry(w, p->name);
	struct rank_group *g = &w->group[i];

	if (!c)
		return errprintf(err, "the container has ended");
	if (!rebind_is(w, &c->cpus, &p->cpus, &p->next_cpus) ||
	    !rebind_is(w, &c->reserved, &p->reserved, &p->next_reserved))
		return errprintf(err, "the container has other CPUs by now");
	for (unsigned k = 0; k < p->n; k++)
		if (!idset_subset(&p->rank[k].next, &p->next_cpus))
			return errprintf(err, "%s would leave the container", p->rank[k].task);
	g->before = p->cpus;
	g->after = p->next_cpus;
	if (rank_group_collect(g, w->job, w->own, p->name, err) < 0 ||
	    rebind_select(w, g, p, err) < 0)
		return -1;
	if (idset_equal(&p->cpus, &p->next_cpus))
		return 0;
	for (unsigned k = 0; k < g->n; k++)
		if (g->moved[k].step->partition != PARTITION_MEMBER)
			return errprintf(err, "a partition cannot get other CPUs");
	return 0;
}

/* Write the CPUs of R's containers to the entries. NEXT: the new CPUs, else the old ones. */
static void rebind_note(const struct rebind_work *w, bool next)
{
	for (unsigned i = 0; i < w->r->n; i++) {
		const struct rebind_place *p = &w->r->place[i];
		struct planned_container *c = rebind_entry(w, p->name);

		if (!c)
			continue;
		c->cpus = next ? p->next_cpus : p->cpus;
		c->reserved = next ? p->next_reserved : p->reserved;
	}
}

/* Bind all groups and write the entry; on failure, bind them back. */
static int rebind_bind(struct rebind_work *w, struct errbuf *err)
{
	unsigned bound = 0;
	int threads = 0;

	while (bound < w->r->n &&
	       rank_group_bind(&w->group[bound], w->host->cgroup_fd, &w->time, err) == 0)
		bound++;
	if (bound == w->r->n) {
		rebind_note(w, true);
		if (ledger_write(w->ledger, w->job, err) == 0) {
			for (unsigned i = 0; i < w->r->n; i++)
				for (unsigned k = 0; k < w->group[i].n; k++)
					threads += (int)w->group[i].moved[k].threads;
			return threads;
		}
		rebind_note(w, false);
	}
	while (bound)
		rank_group_undo(&w->group[--bound], w->host->cgroup_fd, &w->time);
	return bind_time_tell(&w->time, err);
}

static int rebind_job(struct rebind_work *w, struct errbuf *err)
{
	int rc = -1;

	w->own = w->r->own_inode ? ledger_job_step(w->job, w->r->own_inode) : NULL;
	if (w->r->own_inode && !w->own)
		return errprintf(err, "the step has ended");
	w->group = calloc(w->r->n + 1u, sizeof(*w->group));
	if (!w->group)
		return errprintf(err, "out of memory");
	bind_time_start(&w->time, w->host->timeout < LOCKED_SECONDS_MAX ? w->host->timeout
									: LOCKED_SECONDS_MAX);
	if (rebind_load(w, err) == 0) {
		rc = 0;
		for (unsigned i = 0; rc == 0 && i < w->r->n; i++)
			rc = rebind_group(w, i, err);
		if (rc == 0)
			rc = rebind_bind(w, err);
	}
	for (unsigned i = 0; i < w->r->n; i++)
		rank_group_free(&w->group[i]);
	free(w->group);
	return rc;
}

int rebind_ranks(const struct rebind *r, const struct rebind_host *h, struct errbuf *err)
{
	struct rebind_work w = { .r = r, .host = h };
	int threads = -1;

	if (ledger_open(&w.ledger, h->state_dir, h->cgroup_fd, h->timeout, err) < 0)
		return -1;
	if (ledger_read(w.ledger, r->job_inode, &w.job, err) == 0) {
		if (w.job)
			threads = rebind_job(&w, err);
		else
			errprintf(err, "the job has ended");
	}
	ledger_job_free(w.job);
	ledger_close(w.ledger);
	return threads;
}
