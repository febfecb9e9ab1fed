/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/resize_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "base/proc.h"
#include "container/step_id.h"
#include "host/affinity.h"
#include "ranks/rankmap_renew.h"

/* the most passes over a rank's threads; the passes end when one finds no new thread */
#define PASSES 20
/*
 * Percentages of the time that a launch waits for the ledger. The rest of the time is for a cgroup
 * that the kernel is changing, and for the ledger itself.
 */
#define BIND_PERCENT 40
#define UNDO_PERCENT 30

void bind_time_start(struct bind_time *t, unsigned helper_timeout)
{
	*t = (struct bind_time){ .bind_ms = (long)helper_timeout * 10 * BIND_PERCENT,
				 .undo_ms = (long)helper_timeout * 10 * UNDO_PERCENT };
	t->bind_end = monotonic_ms() + t->bind_ms;
}

int bind_time_tell(const struct bind_time *t, struct errbuf *err)
{
	if (!t->n_stuck)
		return errappend(err, " (the ranks are bound as before)");
	return errappend(err, " (%u rank%s could not be restored in %ld ms: %s)", t->n_stuck,
			 t->n_stuck == 1 ? "" : "s", t->undo_ms, t->stuck);
}

void rank_path(char *buf, const struct ledger_step *step, const struct ledger_rank *rank)
{
	snprintf(buf, RANK_PATH_MAX, "%s/user/%s", step->cgroup, rank->task);
}

int rank_group_collect(struct rank_group *g, struct ledger_job *job, const struct ledger_step *own,
		       const char *place, struct errbuf *err)
{
	for (unsigned i = 0; i < job->n_steps; i++) {
		struct ledger_step *s = &job->step[i];

		if (own ? s != own : s->plan != NULL)
			continue;
		for (unsigned k = 0; k < s->n_placed; k++) {
			struct rank_moved *more =
				strcmp(s->placed[k].place, place) == 0
					? reallocarray(g->moved, g->n + 1u, sizeof(*more))
					: NULL;

			if (strcmp(s->placed[k].place, place) != 0)
				continue;
			if (!more) {
				rank_group_free(g);
				return errprintf(err, "out of memory");
			}
			g->moved = more;
			g->moved[g->n++] = (struct rank_moved){ .step = s,
								.rank = &s->placed[k],
								.now = s->placed[k].cpus,
								.next = s->placed[k].cpus };
		}
	}
	return 0;
}

void rank_group_free(struct rank_group *g)
{
	free(g->moved);
	g->moved = NULL;
	g->n = 0;
}

int rank_group_renew(struct rank_group *g, const struct job_plan *plan, struct errbuf *err)
{
	struct idset *now = calloc(g->n + 1u, sizeof(*now)),
		     *next = calloc(g->n + 1u, sizeof(*next));
	struct rankmap_renew in = { .n_ranks = g->n,
				    .now = now,
				    .before = &g->before,
				    .after = &g->after,
				    .n_cores = plan->n_cores,
				    .core = plan->core };
	int rc = now && next ? 0 : errprintf(err, "out of memory");

	for (unsigned i = 0; rc == 0 && i < g->n; i++)
		now[i] = g->moved[i].now;
	if (rc == 0 && g->n)
		rc = rankmap_renew(&in, next, err);
	for (unsigned i = 0; rc == 0 && i < g->n; i++)
		g->moved[i].next = next[i];
	free(now);
	free(next);
	return rc;
}

/* Returns 0, or -1 if the time END has passed. */
static int resize_ranks_late(long end, struct errbuf *err)
{
	return monotonic_ms() > end ? errprintf(err, "the time limit has passed") : 0;
}

/* One pass over the threads of a rank. */
struct pass {
	const char *path; /* path of the rank's cgroup, below the cgroup mount */
	const struct idset *now, *next;
	unsigned threads, changed;
	long end; /* time limit, as of monotonic_ms() */
	struct errbuf err; /* reason why a live thread could not be bound */
	bool bad;
	bool late; /* the time limit has passed before all threads were bound */
};

/* Return whether thread TID is still in the rank's cgroup. */
static bool resize_ranks_is_there(const struct pass *p, pid_t tid)
{
	char path[RANK_PATH_MAX];

	return process_cgroup_of(path, sizeof(path), tid) == 0 && strcmp(path, p->path) == 0;
}

static void bind_thread(pid_t tid, void *arg)
{
	struct pass *p = arg;
	struct idset mask, want;
	struct errbuf err;

	p->late = p->late || monotonic_ms() > p->end;
	if (p->late)
		return;
	/* the thread has ended */
	if (affinity_get(tid, &mask, &err) < 0)
		return;
	p->threads++;
	want = rankmap_renew_thread(&mask, p->now, p->next);
	if (idset_equal(&mask, &want))
		return;
	p->changed++;
	/* the list of threads may be out of date, and another user's thread may have TID now */
	if (!resize_ranks_is_there(p, tid))
		return;
	if (affinity_set(tid, &want, &err) == 0 || affinity_get(tid, &mask, &p->err) < 0)
		return;
	p->err = err;
	p->bad = true;
}

/*
 * Bind all threads. A thread that starts meanwhile inherits a mask, so repeat until a pass changes
 * nothing.
 */
static int bind_threads(struct rank_moved *m, int cgroup_fd, const char *path, long end,
			struct errbuf *err)
{
	for (int i = 0; i < PASSES; i++) {
		struct pass p = { .path = path, .now = &m->now, .next = &m->next, .end = end };

		if (cgroup_each_thread(cgroup_fd, path, bind_thread, &p, err) < 0)
			return -1;
		m->threads = p.threads;
		if (p.bad)
			return errcopy(err, &p.err);
		if (p.late)
			return resize_ranks_late(end, err);
		if (!p.changed)
			return 0;
	}
	/* the cgroup confines threads that keep coming or change their own masks */
	return 0;
}

static int widen(int cgroup_fd, const char *path, const struct idset *more, struct errbuf *err)
{
	struct idset has;

	if (cgroup_read_set(cgroup_fd, path, "cpuset.cpus", &has, err) < 0)
		return -1;
	/* if the set is empty, the directory uses the CPUs of its parent */
	if (idset_empty(&has) || idset_subset(more, &has))
		return 0;
	idset_or(&has, more);
	return cgroup_write_set(cgroup_fd, path, "cpuset.cpus", &has, err);
}

/* Bind a rank. On failure, ERR names the rank. */
static int bind_rank(const struct rank_group *g, struct rank_moved *m, int cgroup_fd, long end,
		     struct errbuf *err)
{
	char step[16], path[RANK_PATH_MAX], user[CGROUP_PATH_MAX + 8];
	struct idset both = g->before;

	idset_or(&both, &g->after);
	snprintf(user, sizeof(user), "%s/user", m->step->cgroup);
	rank_path(path, m->step, m->rank);
	if (resize_ranks_late(end, err) < 0 || widen(cgroup_fd, user, &both, err) < 0 ||
	    cgroup_write_set(cgroup_fd, path, "cpuset.cpus", &both, err) < 0 ||
	    bind_threads(m, cgroup_fd, path, end, err) < 0 ||
	    cgroup_write_set(cgroup_fd, path, "cpuset.cpus", &g->after, err) < 0) {
		/* the rank has ended, and its directory is gone */
		if (cgroup_inode(cgroup_fd, path) == 0) {
			m->threads = 0;
			return 0;
		}
		step_id_format(m->step->step_id, step);
		return errwrap(err, "step %s, %s", step, m->rank->task);
	}
	return 0;
}

/* Record the new CPUs of ranks and steps, for the rank maps of other steps. */
static void resize_ranks_note(const struct rank_group *g)
{
	for (unsigned i = 0; i < g->n; i++)
		g->moved[i].rank->cpus = g->moved[i].next;
	for (unsigned i = 0; i < g->n; i++) {
		struct ledger_step *s = g->moved[i].step;

		/* ranks of a step are adjacent */
		if ((i && g->moved[i - 1].step == s) || idset_empty(&s->cpus))
			continue;
		idset_zero(&s->cpus);
		for (unsigned k = 0; k < s->n_placed; k++)
			idset_or(&s->cpus, &s->placed[k].cpus);
	}
}

/* Add a rank that could not be restored to T, with the reason. */
static void note_stuck(struct bind_time *t, const struct errbuf *why)
{
	size_t used = strlen(t->stuck);

	/* list the first reasons, and count all ranks */
	if (used + strlen(why->text) + 3 < sizeof(t->stuck))
		snprintf(t->stuck + used, sizeof(t->stuck) - used, "%s%s", used ? "; " : "",
			 why->text);
	t->n_stuck++;
}

/* Reverse G, and bind its first N ranks to their old CPUs. */
static void undo_first(struct rank_group *g, unsigned n, int cgroup_fd, struct bind_time *t)
{
	struct idset before = g->before;
	struct errbuf why;

	if (!t->undo_end)
		t->undo_end = monotonic_ms() + t->undo_ms;
	g->before = g->after;
	g->after = before;
	for (unsigned i = 0; i < g->n; i++) {
		struct rank_moved *m = &g->moved[i];
		struct idset now = m->now;

		m->now = m->next;
		m->next = now;
		if (i < n && bind_rank(g, m, cgroup_fd, t->undo_end, &why) < 0)
			note_stuck(t, &why);
	}
}

void rank_group_undo(struct rank_group *g, int cgroup_fd, struct bind_time *t)
{
	undo_first(g, g->n, cgroup_fd, t);
	resize_ranks_note(g);
}

int rank_group_bind(struct rank_group *g, int cgroup_fd, struct bind_time *t, struct errbuf *err)
{
	for (unsigned i = 0; i < g->n; i++)
		if (bind_rank(g, &g->moved[i], cgroup_fd, t->bind_end, err) < 0) {
			if (monotonic_ms() > t->bind_end)
				errwrap(err,
					"the %u ranks could not be bound within %ld ms, the "
					"longest time that launches may wait (helper_timeout)",
					g->n, t->bind_ms);
			undo_first(g, i + 1, cgroup_fd, t);
			return -1;
		}
	resize_ranks_note(g);
	return 0;
}
