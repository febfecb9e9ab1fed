/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "container/ledger.h"

void ledger_step_clear_ranks(struct ledger_step *s)
{
	free(s->placed);
	free(s->rank_lines);
	free(s->rank_runs);
	s->placed = NULL;
	s->rank_lines = s->rank_runs = NULL;
	s->n_placed = 0;
}

static void free_step(struct ledger_step *s)
{
	ledger_step_clear_ranks(s);
	free(s->places);
	free(s->unknown);
	free(s->request);
	job_plan_free(s->plan);
}

void ledger_job_free(struct ledger_job *job)
{
	if (!job)
		return;
	for (unsigned i = 0; i < job->n_steps; i++)
		free_step(&job->step[i]);
	free(job->step);
	free(job->unknown);
	free(job->devils);
	free(job->request);
	job_plan_free(job->plan);
	free(job);
}

struct ledger_job *ledger_job_new(const struct cgroup_place *place, uint32_t job_id, uid_t uid)
{
	struct ledger_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->inode = place->job_inode;
	job->job_id = job_id;
	job->uid = uid;
	snprintf(job->cgroup, sizeof(job->cgroup), "%s", place->job);
	return job;
}

struct ledger_step *ledger_job_step(struct ledger_job *job, uint64_t step_inode)
{
	for (unsigned i = 0; i < job->n_steps; i++)
		if (job->step[i].inode == step_inode)
			return &job->step[i];
	return NULL;
}

struct ledger_step *ledger_job_add_step(struct ledger_job *job)
{
	unsigned n = job->n_steps;
	struct ledger_step *s = job->step;

	/* the array has space for a power of two of elements */
	if ((n & (n - 1)) == 0)
		s = reallocarray(s, n ? 2 * n : 1, sizeof(*s));
	if (!s)
		return NULL;
	job->step = s;
	s = &job->step[job->n_steps++];
	memset(s, 0, sizeof(*s));
	return s;
}

struct ledger_rank *ledger_step_add_rank(struct ledger_step *s)
{
	unsigned n = s->n_placed;
	struct ledger_rank *r = s->placed;

	/* as in ledger_job_add_step() */
	if ((n & (n - 1)) == 0)
		r = reallocarray(r, n ? 2 * n : 1, sizeof(*r));
	if (!r)
		return NULL;
	s->placed = r;
	r = &s->placed[s->n_placed++];
	memset(r, 0, sizeof(*r));
	return r;
}

void ledger_job_del_step(struct ledger_job *job, uint64_t step_inode)
{
	struct ledger_step *s = ledger_job_step(job, step_inode);

	if (!s)
		return;
	free_step(s);
	job->n_steps--;
	memmove(s, s + 1, (size_t)(&job->step[job->n_steps] - s) * sizeof(*s));
}

const char *ledger_step_places(const struct ledger_step *s)
{
	return s->places ? s->places : "";
}

int ledger_step_set_places(struct ledger_step *s, const char *places)
{
	char *copy = strdup(places);

	if (!copy)
		return -1;
	free(s->places);
	s->places = copy;
	return 0;
}

/* Append NAME to *LIST, names in the form "a,b". Returns 0, or -1 if out of memory. */
static int ledger_job_append(char **list, const char *name)
{
	size_t used = *list ? strlen(*list) : 0, len = strlen(name);
	char *more = realloc(*list, used + len + 2);

	if (!more)
		return -1;
	if (used)
		more[used++] = ',';
	memcpy(more + used, name, len + 1);
	*list = more;
	return 0;
}

/* Return the number of names in LIST. *HAS: one of them is NAME. */
static unsigned ledger_job_count(const char *list, const char *name, bool *has)
{
	size_t len = strlen(name);
	unsigned n = 0;

	*has = false;
	for (const char *at = list ? list : ""; *at; at += strcspn(at, ","), at += *at == ',') {
		*has |= strcspn(at, ",") == len && strncmp(at, name, len) == 0;
		n++;
	}
	return n;
}

int ledger_step_add(struct ledger_step *s, const char *place)
{
	return ledger_job_append(&s->places, place);
}

bool ledger_step_in(const struct ledger_step *s, const char *place)
{
	bool has;

	ledger_job_count(s->places, place, &has);
	return has;
}

int ledger_job_note_devil(struct ledger_job *job, const char *name)
{
	bool has;

	if (ledger_job_count(job->devils, name, &has) >= REQUEST_CONTAINERS_MAX || has)
		return 0;
	return ledger_job_append(&job->devils, name) < 0 ? -1 : 1;
}

bool ledger_job_had_devil(const struct ledger_job *job, const char *name)
{
	bool has;

	ledger_job_count(job->devils, name, &has);
	return has;
}

bool ledger_step_in_job_plan(const struct ledger_step *s, const char *place)
{
	return !s->plan && ledger_step_in(s, place);
}

bool ledger_job_is_empty(const struct ledger_job *job)
{
	return !job->plan && !job->n_steps && idset_empty(&job->share) && !job->devils &&
	       !job->unknown;
}
