/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contend/counted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"

/*
 * the most ranks that one counted_match() tries again after their counters failed; each may take
 * several system calls
 */
#define TRY_AGAIN 16u
/*
 * milliseconds that one counted_match() or counted_renew() may take to open counters; a call may
 * have to wait for a rank
 */
#define BEGIN_MS 500
/* limit for one step: its user may make the call wait for each rank of the step */
#define STEP_MS 100
#define TOO_LONG "opening counters takes too long; the other ranks get counters at the next scan"
#define WAITED_MS 40 /* milliseconds; an attempt that takes longer had to wait for the process */
/* milliseconds from an attempt that had to wait to the next one; doubled each time */
#define PAUSE_MS 10000
#define PAUSE_MAX_MS 600000 /* the longest pause between such attempts, in milliseconds */
#define LOST_TICKS 10 /* 0.1 s of CPU time in clock ticks; counters that miss so much do not work */

int counted_begin_early(struct counted_table *t, pid_t pid, struct errbuf *err)
{
	struct counted_early *more;
	long took;
	int rc;

	if (t->waited >= STEP_MS)
		return errprintf(err, TOO_LONG);
	more = realloc(t->early, (t->n_early + 1) * sizeof(*more));
	if (!more)
		return errprintf(err, "out of memory");
	t->early = more;
	more += t->n_early;
	*more = (struct counted_early){ .pid = pid, .begun = monotonic_ms() };
	rc = counters_begin(t->counters, pid, true, &more->group, err);
	took = monotonic_ms() - more->begun;
	if (took >= WAITED_MS)
		t->waited += took;
	if (rc < 0)
		return -1;
	t->n_early++;
	return 0;
}

static int compare_counted(const void *a, const void *b)
{
	const struct counted *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Move the entry of RANK from OLD, which is sorted, to *OUT. Returns false if OLD has none. */
static bool take_old(struct counted *out, struct counted *old, unsigned n,
		     const struct observed_rank *rank)
{
	struct counted key = { .pid = rank->pid, .start = rank->start };
	struct counted *found = n ? bsearch(&key, old, n, sizeof(*old), compare_counted) : NULL;

	if (!found)
		return false;
	*out = *found;
	found->group = NULL;
	return true;
}

static bool take_early(struct counted *out, struct counted_table *t)
{
	for (unsigned i = 0; i < t->n_early; i++)
		if (t->early[i].group && t->early[i].pid == out->pid) {
			out->group = t->early[i].group;
			out->read_at = t->early[i].begun;
			t->early[i].group = NULL;
			return true;
		}
	return false;
}

/* Start the totals of a rank at 0, unless they continue those of an earlier daemon. */
static void begin_totals(struct observed_rank *rank, bool has_remote)
{
	if (rank->instructions == OBSERVED_UNKNOWN) {
		rank->instructions = 0;
		rank->misses = 0;
	}
	if (rank->remote == OBSERVED_UNKNOWN && has_remote)
		rank->remote = 0;
	if (rank->interrupts == OBSERVED_UNKNOWN)
		rank->interrupts = 0;
}

static int begin_rank(struct counted_table *t, struct counted *c, struct observed_rank *rank,
		      struct errbuf *err)
{
	struct counters_about about;
	struct errbuf why = { 0 };

	counters_about(t->counters, &about);
	if (*about.why)
		return 0; /* this host has no counters, which is no fault of the rank */
	if (!take_early(c, t)) {
		c->read_at = monotonic_ms();
		c->tried = true;
		/*
		 * count child processes of a task only: those of another rank may be ranks, too,
		 * and would count twice
		 */
		if (counters_begin(t->counters, c->pid, rank->kind == OBSERVED_TASK, &c->group,
				   &why) < 0) {
			c->group = NULL;
			snprintf(rank->why, sizeof(rank->why), "%.127s", why.text);
			return errprintf(err, "%s", why.text);
		}
	}
	*rank->why = '\0';
	begin_totals(rank, about.has_remote);
	rank->counted = (double)c->read_at / 1000;
	c->interrupts_before = rank->interrupts;
	return 0;
}

/* The limits of one call of counted_match(). */
struct counted_budget {
	long end, step_end; /* monotonic milliseconds */
	unsigned again; /* attempts left for ranks whose counters failed before */
};

/*
 * Try to open counters for RANK within the budget LEFT. Returns 0, 1 if a later call must try, or
 * -1 with the reason.
 */
static int try_rank(struct counted_table *t, struct counted *c, struct observed_rank *rank,
		    struct counted_budget *left, struct errbuf *err)
{
	long begun = monotonic_ms(), now;
	int rc;

	if (c->tried && (begun < c->again || !left->again || !left->again--))
		return 1;
	if (begun >= left->end || begun >= left->step_end) {
		errprintf(err, TOO_LONG);
		return -1;
	}
	rc = begin_rank(t, c, rank, err);
	now = monotonic_ms();
	if (rc < 0 && now - begun >= WAITED_MS) {
		c->pause = c->pause ? 2 * c->pause : PAUSE_MS;
		if (c->pause > PAUSE_MAX_MS)
			c->pause = PAUSE_MAX_MS;
		c->again = now + (long)c->pause;
	}
	return rc;
}

static void end_groups(struct counted *rank, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		counters_end(rank[i].group);
}

static void end_early(struct counted_table *t)
{
	for (unsigned i = 0; i < t->n_early; i++)
		counters_end(t->early[i].group);
	free(t->early);
	t->early = NULL;
	t->n_early = 0;
	t->waited = 0;
}

static unsigned count_all_ranks(const struct observed_node *node)
{
	unsigned n = 0;

	for (unsigned s = 0; s < node->n_steps; s++)
		n += node->step[s].n;
	return n;
}

int counted_match(struct counted_table *t, struct observed_node *node, struct errbuf *err)
{
	unsigned n = count_all_ranks(node), k = 0;
	struct counted *fresh = calloc(n ? n : 1, sizeof(*fresh)), *old = t->rank;
	struct counted_budget left = { .end = monotonic_ms() + BEGIN_MS, .again = TRY_AGAIN };
	int rc = 0;

	if (!fresh) {
		counted_end(t);
		return errprintf(err, "out of memory");
	}
	if (t->n)
		qsort(old, t->n, sizeof(*old), compare_counted);
	t->refused = 0;
	for (unsigned s = 0; s < node->n_steps; s++) {
		left.step_end = monotonic_ms() + STEP_MS;
		for (unsigned i = 0; i < node->step[s].n; i++, k++) {
			struct observed_rank *rank = &node->step[s].rank[i];
			int tried;

			if (!take_old(&fresh[k], old, t->n, rank))
				fresh[k] =
					(struct counted){ .pid = rank->pid, .start = rank->start };
			if (fresh[k].group || node->step[s].ended)
				continue;
			tried = try_rank(t, &fresh[k], rank, &left, err);
			t->refused += tried != 0;
			rc = tried < 0 ? -1 : rc;
		}
	}
	end_groups(old, t->n);
	end_early(t);
	free(old);
	t->rank = fresh;
	t->n = n;
	return rc;
}

/*
 * Return whether the process of RANK has run without its counters since the last check. The kernel
 * does not report that it has removed counters.
 */
static bool has_lost_counters(struct counted *c, const struct observed_rank *rank)
{
	bool lost;

	if (c->read_at == c->judged)
		return false; /* the counters were not read since the last check */
	lost = c->judged && c->before.enabled == c->judged_enabled &&
	       rank->ticks >= c->judged_ticks + LOST_TICKS;
	c->judged = c->read_at;
	c->judged_enabled = c->before.enabled;
	c->judged_ticks = rank->ticks;
	return lost;
}

static void renew_rank(struct counted_table *t, struct counted *c, struct observed_rank *rank)
{
	if (!has_lost_counters(c, rank)) {
		counters_renew(c->group, NULL);
		return;
	}
	counters_end(c->group);
	*c = (struct counted){ .pid = c->pid, .start = c->start };
	begin_rank(t, c, rank, NULL);
}

/*
 * Renew the counters of the ranks of STEP, whose first entry in T is FIRST, until END, in monotonic
 * milliseconds.
 */
static void renew_step(struct counted_table *t, struct observed_step *step, unsigned first,
		       long end)
{
	long begun = monotonic_ms();

	if (end > begun + STEP_MS)
		end = begun + STEP_MS;
	for (unsigned n = 0; n < step->n && !step->ended; n++) {
		unsigned i = (t->turn + n) % step->n;

		if (first + i >= t->n || !t->rank[first + i].group)
			continue;
		if (monotonic_ms() >= end)
			return;
		renew_rank(t, &t->rank[first + i], &step->rank[i]);
	}
}

void counted_renew(struct counted_table *t, struct observed_node *node)
{
	long end = monotonic_ms() + BEGIN_MS;
	unsigned s = node->n_steps ? t->turn % node->n_steps : 0, first = 0;

	for (unsigned i = 0; i < s; i++)
		first += node->step[i].n;
	for (unsigned n = 0; n < node->n_steps; n++) {
		renew_step(t, &node->step[s], first, end);
		first += node->step[s].n;
		if (++s == node->n_steps)
			s = first = 0;
	}
	t->turn++;
}

void counted_end(struct counted_table *t)
{
	end_groups(t->rank, t->n);
	end_early(t);
	free(t->rank);
	t->rank = NULL;
	t->n = 0;
}
