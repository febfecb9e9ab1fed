/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "migration/mover_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "migration/page_worker.h"
#include "migration/rank_samples.h"

#define PAGES_MOVE_S 120 /* seconds: limit of one rank's move */
#define PAGES_AGAIN_MS 60000 /* delay before a rank is tried again whose pages could not be moved */
#define PAGES_HELD_MS 5000 /* the same delay if a killed worker has not ended yet */

/* A rank whose pages were moved, or are to be moved. */
struct tried {
	uint64_t step;
	char task[OBSERVED_TASK_MAX];
	bool wanted;
	long next; /* earliest time of the next try, monotonic milliseconds */
};

/* The rank that needs a move of pages most. */
struct candidate {
	bool there;
	uint32_t job;
	enum rank_class class;
	uint64_t elsewhere; /* bytes; UINT64_MAX: unknown */
	char container[REQUEST_NAME_MAX], task[OBSERVED_TASK_MAX];
	struct page_request request;
};

struct mover_pages {
	int cgroup_fd;
	struct page_workers *workers;
	enum contention_pages allowed;
	unsigned rate; /* MiB a second */
	enum sched_policy default_policy;
	/* number of jobs that have quiet CPUs, and the number of one such job */
	unsigned n_quiet;
	uint32_t quiet_job;
	/* BEST: of this pass; SAMPLED: its misses are being sampled; ACTIVE: its pages are moved */
	struct candidate best, sampled, active;
	struct rank_samples *samples;
	struct errbuf no_samples; /* why this host cannot sample, until that is reported */
	unsigned n_tried;
	struct tried *tried;
};

struct mover_pages *mover_pages_new(int cgroup_fd)
{
	struct mover_pages *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->cgroup_fd = cgroup_fd;
	p->workers = page_workers_new();
	p->samples = rank_samples_new(cgroup_fd);
	if (p->workers && p->samples)
		return p;
	mover_pages_free(p);
	return NULL;
}

void mover_pages_free(struct mover_pages *p)
{
	if (!p)
		return;
	page_workers_free(p->workers);
	rank_samples_free(p->samples);
	free(p->tried);
	free(p);
}

static struct tried *tried_find(struct mover_pages *p, uint64_t step, const char *task)
{
	for (unsigned i = 0; i < p->n_tried; i++)
		if (p->tried[i].step == step && strcmp(p->tried[i].task, task) == 0)
			return &p->tried[i];
	return NULL;
}

/* Like tried_find(), but adds a missing entry; NULL: out of memory. */
static struct tried *tried_meet(struct mover_pages *p, uint64_t step, const char *task)
{
	struct tried *t = tried_find(p, step, task), *more;

	if (t)
		return t;
	more = reallocarray(p->tried, p->n_tried + 1u, sizeof(*more));
	if (!more)
		return NULL;
	p->tried = more;
	t = &more[p->n_tried++];
	*t = (struct tried){ .step = step };
	snprintf(t->task, sizeof(t->task), "%s", task);
	return t;
}

void mover_pages_want(struct mover_pages *p, uint64_t step, const char *task)
{
	struct tried *t = tried_meet(p, step, task);

	if (!t)
		return;
	t->wanted = true;
	t->next = 0;
}

/* ------------------------------------------------------------------ a pass */

void mover_pages_begin(struct mover_pages *p, const struct conf *conf, const struct events_row *row)
{
	const struct conf_contention *c = &conf->contention;

	if (rank_samples_configure(p->samples, c->pages_around, row, &p->no_samples) < 0)
		errwrap(&p->no_samples, "contention_pages_around: all pages of a rank follow");
	p->allowed = c->pages;
	p->rate = c->page_rate;
	p->default_policy = conf->default_policy;
	p->n_quiet = 0;
	p->best.there = false;
}

static bool is_quiet(const struct mover_pages *p, const char *text, const struct job_plan *plan)
{
	struct request *r = malloc(sizeof(*r));
	bool quiet = false;

	if (r && text && request_parse(r, text, NULL) == 0)
		for (unsigned i = 0; i < r->n && !quiet; i++) {
			const struct requested_container *c = &r->container[i];
			const struct planned_container *has = job_plan_find(plan, c->name);
			enum sched_policy policy = c->policy == POLICY_UNSET ? p->default_policy
									     : c->policy;

			quiet = has && !has->deleted &&
				(policy == POLICY_HPC || c->partition == PARTITION_ISOLATED);
		}
	free(r);
	return quiet;
}

void mover_pages_see(struct mover_pages *p, const struct ledger_job *job)
{
	bool quiet = job->plan && is_quiet(p, job->request, job->plan);

	for (unsigned i = 0; i < job->n_steps && !quiet; i++)
		quiet = job->step[i].plan && is_quiet(p, job->step[i].request, job->step[i].plan);
	if (!quiet)
		return;
	p->n_quiet++;
	p->quiet_job = job->job_id;
}

/* The observed processes of a step, in the order of their tasks. */
struct processes {
	const struct observed_step *step; /* NULL: none is observed */
	const struct observed_rank **rank;
};

static int compare_tasks(const void *a, const void *b)
{
	const struct observed_rank *const *x = a, *const *y = b;

	return strcmp((*x)->task, (*y)->task);
}

/* List the processes of the step with INODE, sorted by task. Returns 0, or -1: out of memory. */
static int sort_processes(struct processes *out, const struct observed_node *node, uint64_t inode)
{
	*out = (struct processes){ 0 };
	for (unsigned i = 0; i < node->n_steps && !out->step; i++)
		if (node->step[i].inode == inode)
			out->step = &node->step[i];
	if (!out->step)
		return 0;
	out->rank = calloc(out->step->n + 1u, sizeof(const struct observed_rank *));
	if (!out->rank)
		return -1;
	for (unsigned i = 0; i < out->step->n; i++)
		out->rank[i] = &out->step->rank[i];
	qsort(out->rank, out->step->n, sizeof(const struct observed_rank *), compare_tasks);
	return 0;
}

/*
 * Return a process of TASK; NULL: none is observed. *DOMAIN is the domain in which all processes of
 * TASK were seen to run (the ledger may differ: the user may have bound them); OBSERVED_NO_DOMAIN:
 * several domains.
 */
static const struct observed_rank *pages_observed(const struct processes *p, const char *task,
						  int *domain)
{
	struct observed_rank wanted;
	const struct observed_rank *key = &wanted, *const * found;
	unsigned at;

	snprintf(wanted.task, sizeof(wanted.task), "%s", task);
	found = bsearch(&key, p->rank, p->step->n, sizeof(const struct observed_rank *),
			compare_tasks);
	if (!found)
		return NULL;
	at = (unsigned)(found - p->rank);
	while (at > 0 && strcmp(p->rank[at - 1]->task, task) == 0)
		at--;
	*domain = p->rank[at]->domain;
	for (unsigned i = at; i < p->step->n && strcmp(p->rank[i]->task, task) == 0; i++)
		if (p->rank[i]->domain != *domain)
			*domain = OBSERVED_NO_DOMAIN;
	return p->rank[at];
}

/*
 * Fill OUT with those memory nodes of the container that are home to a rank in DOMAIN. False:
 * nothing can lie elsewhere.
 */
static bool pages_home(struct node_home *out, const struct observed_node *node, int domain,
		       const struct planned_container *c)
{
	idset_zero(&out->home);
	out->container = c->mems;
	if (domain >= 0 && (unsigned)domain < node->n_domains)
		out->home = node->domain[domain].mems;
	idset_and(&out->home, &c->mems);
	/* without a home, or if all nodes are home, nothing can lie elsewhere */
	return !idset_empty(&out->home) && !idset_equal(&out->home, &c->mems);
}

static unsigned foreign_cpus(const struct observed_node *node, const struct planned_container *c)
{
	unsigned n = 0;

	for (unsigned i = 0; i < node->n_domains; i++) {
		struct idset cpus = node->domain[i].cpus;

		idset_andnot(&cpus, &c->cpus);
		n += idset_count(&cpus);
	}
	return n;
}

/* Fill OUT for a rank of the step S. Returns whether its pages are to be moved. */
static bool pages_candidate(struct candidate *out, struct mover_pages *p,
			    const struct ledger_step *s, const struct observed_step *step,
			    const struct observed_rank *r)
{
	const struct tried *t = tried_find(p, s->inode, r->task);
	struct pages_plan *plan = &out->request.plan;
	struct node_memory memory;
	struct errbuf ignored;

	if ((t && t->next > monotonic_ms()) || page_workers_held(p->workers, step->uid))
		return false;
	if ((size_t)snprintf(out->request.cgroup, sizeof(out->request.cgroup), "%s/user/%s",
			     s->cgroup, r->task) >= sizeof(out->request.cgroup) ||
	    page_workers_silent(p->workers, out->request.cgroup))
		return false;
	/* if the place of its memory is unknown, only ranks that have just moved are candidates */
	out->elsewhere = UINT64_MAX;
	if (node_memory_read(&memory, &plan->where, p->cgroup_fd, out->request.cgroup, &ignored) ==
	    0) {
		unsigned share = node_memory_share(&memory);

		if (share <= (t && t->wanted ? NODE_MEMORY_ENOUGH : NODE_MEMORY_REPAIR))
			return false;
		out->elsewhere = memory.elsewhere;
	} else if (!t || !t->wanted) {
		return false;
	}
	out->there = true;
	out->job = step->job;
	out->class = classify_for_placement(&r->state);
	memcpy(out->task, r->task, sizeof(out->task));
	out->request.cgroup_fd = p->cgroup_fd;
	out->request.step = s->inode;
	out->request.uid = step->uid;
	out->request.gid = step->gid;
	return true;
}

/* Consider the ranks of step S in container C. */
static void consider_step(struct mover_pages *p, const struct decide_input *in,
			  const struct planned_container *c, const struct ledger_step *s,
			  const struct processes *seen)
{
	for (unsigned k = 0; k < s->n_placed; k++) {
		struct candidate new = { .there = false };
		struct pages_plan *plan = &new.request.plan;
		int domain = OBSERVED_NO_DOMAIN;
		const struct observed_rank *r =
			strcmp(s->placed[k].place, c->name) == 0
				? pages_observed(seen, s->placed[k].task, &domain)
				: NULL;

		if (!r || !pages_home(&plan->where, in->node, domain, c) ||
		    !pages_candidate(&new, p, s, seen->step, r))
			continue;
		if (p->best.there &&
		    (new.class < p->best.class ||
		     (new.class == p->best.class &&new.elsewhere <= p->best.elsewhere)))
			continue;
		plan->to = (unsigned)idset_next(&plan->where.home, -1);
		plan->rate = (uint64_t)p->rate << 20;
		plan->seconds = PAGES_MOVE_S;
		new.request.foreign_cpus = foreign_cpus(in->node, c);
		strcpy(new.container, c->name);
		p->best = new;
	}
}

/*
 * Return what the job's request asks for container C of the plan; NULL: the request does not have
 * it. The caller frees *REQUEST.
 */
static const struct requested_container *pages_ask(struct request **request,
						   const struct decide_input *in,
						   const struct planned_container *c)
{
	const char *text = in->own ? in->own->request : in->job->request;
	int found = -1;

	*request = malloc(sizeof(**request));
	if (*request && text && request_parse(*request, text, NULL) == 0)
		found = request_find(*request, c->name);
	return found < 0 ? NULL : &(*request)->container[found];
}

void mover_pages_consider(struct mover_pages *p, const struct decide_input *in,
			  const struct planned_container *c)
{
	struct request *request;
	const struct requested_container *ask = pages_ask(&request, in, c);

	for (unsigned i = 0; ask && i < in->job->n_steps; i++) {
		const struct ledger_step *s = &in->job->step[i];
		struct processes seen;

		if ((in->own ? s != in->own : s->plan != NULL) || s->launching ||
		    sort_processes(&seen, in->node, s->inode) < 0)
			continue;
		/* a worker has the user's rights, and root's ranks get no worker */
		if (seen.step && seen.step->uid &&
		    contention_places(decide_policy(seen.step, ask, in->conf)))
			consider_step(p, in, c, s, &seen);
		free(seen.rank);
	}
	free(request);
}

/* ------------------------------------------------------------------ the worker */

/* Record what the worker with the outcome O has done for the processes of C's rank. */
static void pages_count(struct observed_step *s, const struct candidate *c,
			const struct page_outcome *o)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct observed_rank *r = &s->rank[i];

		if (strcmp(r->task, c->task) != 0)
			continue;
		r->pages += o->moved;
		if (o->result.all) {
			r->pages_of = o->result.all;
			r->pages_sampled = c->request.plan.only != NULL;
		}
		return;
	}
}

/* Record TEXT and the numbers of bytes and drains for the rank of C. */
static void pages_note(struct observed_node *node, const struct candidate *c, const char *text,
		       const struct page_outcome *o)
{
	struct observed_step *s = observed_step_find(node, c->request.step);
	struct observed_placing *placing = s ? observed_get_placing(s, c->container) : NULL;

	if (!placing)
		return;
	snprintf(placing->pages, sizeof(placing->pages), "%s: %.126s", c->task, text);
	if (!o)
		return;
	placing->drains += o->drains;
	pages_count(s, c, o);
}

/* Leave the rank of C alone for a while. */
static void pages_leave(struct mover_pages *p, const struct candidate *c)
{
	struct tried *t = tried_meet(p, c->request.step, c->task);

	/* a pass may have chosen the rank while its pages were being moved */
	if (p->best.there && p->best.request.step == c->request.step &&
	    strcmp(p->best.task, c->task) == 0)
		p->best.there = false;
	if (!t)
		return;
	t->wanted = false;
	t->next = monotonic_ms() + PAGES_AGAIN_MS;
}

static void pages_done(struct mover_pages *p, struct observed_node *node,
		       const struct page_outcome *o)
{
	const struct pages_result *r = &o->result;
	struct tried *t;
	uint64_t all = r->after.home + r->after.elsewhere;
	char text[OBSERVED_WHY_MAX];

	pages_leave(p, &p->active);
	/*
	 * a move that ended with "enough" is followed by no pause, unless it moved nothing: then
	 * the memory that memory.numa_stat shows elsewhere cannot be moved
	 */
	if (r->end == PAGES_ENOUGH && r->moved &&
	    (t = tried_find(p, p->active.request.step, p->active.task)))
		t->next = 0;
	snprintf(text, sizeof(text), "%llu of %llu MiB followed, %llu %% %slie elsewhere (%s)",
		 (unsigned long long)(r->moved >> 20), (unsigned long long)(r->all >> 20),
		 (unsigned long long)(all ? r->after.elsewhere * 100 / all : 0),
		 p->active.request.plan.only ? "of what was sampled " : "", pages_end_name(r->end));
	pages_note(node, &p->active, text, o);
}

/* Take the outcome of a worker that has ended. Returns whether a worker is at work. */
static bool pages_take(struct mover_pages *p, struct observed_node *node, struct errbuf *bad)
{
	struct page_outcome o;
	struct errbuf err = { 0 };

	switch (page_worker_check(p->workers, &o, &err)) {
	case PAGE_DONE:
		pages_done(p, node, &o);
		break;
	case PAGE_DIED:
	case PAGE_ABANDONED:
		pages_leave(p, &p->active);
		pages_note(node, &p->active, err.text, &o);
		errprintf(bad, "move of pages of job %u, %s: %.200s", p->active.job, p->active.task,
			  err.text);
		break;
	case PAGE_AT_WORK:
		return true;
	case PAGE_NONE:
		break;
	}
	return false;
}

/* Write to WHY the reason why the pages of C may not be moved now; "": they may. */
static void pages_refusal(const struct mover_pages *p, const struct candidate *c,
			  char why[OBSERVED_WHY_MAX])
{
	*why = '\0';
	if (p->allowed == CONTENTION_PAGES_NEVER)
		snprintf(why, OBSERVED_WHY_MAX, "not moved: contention_pages is never");
	else if (p->allowed == CONTENTION_PAGES_AUTO &&
		 (p->n_quiet > 1 || (p->n_quiet == 1 && p->quiet_job != c->job)))
		snprintf(why, OBSERVED_WHY_MAX,
			 "not moved: another job has quiet CPUs on this host (contention_pages is "
			 "auto)");
}

/*
 * Stop the worker if its rank's pages may no longer be moved: another job has quiet CPUs by now, or
 * nodeos.conf has changed.
 */
static void pages_stop(struct mover_pages *p, struct observed_node *node)
{
	char why[OBSERVED_WHY_MAX];
	struct page_outcome o;

	pages_refusal(p, &p->active, why);
	if (*why && page_worker_stop(p->workers, &o))
		pages_note(node, &p->active, why, &o);
}

/* Start the move of C's pages. */
static void pages_start(struct mover_pages *p, const struct candidate *c,
			struct observed_node *node, struct errbuf *bad)
{
	struct errbuf err = { 0 };
	struct tried *t;

	switch (page_worker_start(p->workers, &c->request, &err)) {
	case PAGE_STARTED:
		p->active = *c;
		break;
	case PAGE_HELD:
		t = tried_meet(p, c->request.step, c->task);
		if (t)
			t->next = monotonic_ms() + PAGES_HELD_MS;
		pages_note(node, c, err.text, NULL);
		break;
	default:
		pages_leave(p, c);
		pages_note(node, c, err.text, NULL);
		errprintf(bad, "move of pages of job %u, %s: %.200s", c->job, c->task, err.text);
	}
}

/* The rank has been sampled: start the move of what it missed, or of all its pages. */
static void pages_end_samples(struct mover_pages *p, struct observed_node *node, struct errbuf *bad)
{
	struct candidate *c = &p->sampled;
	char why[OBSERVED_WHY_MAX];

	c->request.plan.only = rank_samples_end(p->samples);
	pages_refusal(p, c, why);
	if (!observed_step_find(node, c->request.step))
		return;
	/*
	 * a turtle without samples needs no move; a devil without samples means that sampling fails
	 */
	if (!*why && !c->request.plan.only && c->class == RANK_TURTLE)
		strcpy(why, "none follow: no miss was sampled");
	if (!*why) {
		pages_start(p, c, node, bad);
		return;
	}
	pages_leave(p, c);
	pages_note(node, c, why, NULL);
}

/* Sample the misses of the chosen rank or, where that is not possible, start the move at once. */
static void pages_choose(struct mover_pages *p, struct observed_node *node, struct errbuf *bad)
{
	struct candidate *c = &p->best;
	char why[OBSERVED_WHY_MAX];

	if (!c->there)
		return;
	pages_refusal(p, c, why);
	if (*why) {
		pages_note(node, c, why, NULL);
	} else if (rank_samples_able(p->samples) &&
		   rank_samples_begin(p->samples, c->request.cgroup, NULL) == 0) {
		p->sampled = *c;
		pages_note(node, c, "its misses are being sampled", NULL);
	} else {
		pages_start(p, c, node, bad);
	}
	p->best.there = false;
}

void mover_pages_check(struct mover_pages *p, struct observed_node *node, struct errbuf *bad)
{
	bool busy = pages_take(p, node, bad);

	if (*p->no_samples.text) {
		errcopy(bad, &p->no_samples);
		errclear(&p->no_samples);
	}
	pages_stop(p, node);
	for (unsigned i = p->n_tried; i-- > 0;)
		if (!observed_step_find(node, p->tried[i].step)) {
			page_workers_forget(p->workers, p->tried[i].step);
			p->tried[i] = p->tried[--p->n_tried];
		}
	switch (rank_samples_check(p->samples)) {
	case SAMPLES_DUE:
		pages_end_samples(p, node, bad);
		break;
	case SAMPLES_NONE:
		if (!busy)
			pages_choose(p, node, bad);
		break;
	case SAMPLES_RUNNING:
		break;
	}
}
