/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contend/history.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define POINTS_FIRST 16 /* points */
#define STRIDE_MAX (1u << 20)

/* The history of a rank in a step. PID alone does not identify the rank: pids are used again. */
struct history_entry {
	uint32_t job, step;
	uint64_t start;
	pid_t pid;
	bool seen; /* the current call of histories_add() has found the rank */
	struct history history;
};

double history_time(const struct history *h, unsigned i)
{
	return h->first + h->point[i].at / 10.0;
}

void history_free(struct history *h)
{
	free(h->point);
	*h = (struct history){ 0 };
}

/* Return whether the class or the domain changes at point I. */
static bool history_turns(const struct history *h, unsigned i)
{
	return i == 0 || h->point[i].class != h->point[i - 1].class ||
	       h->point[i].domain != h->point[i - 1].domain;
}

/* Keep the first point, and one of each two points after it. */
static void halve_history(struct history *h)
{
	unsigned n = 1;

	for (unsigned i = 1; i + 1 < h->n; i += 2) {
		unsigned keep = history_turns(h, i) && !history_turns(h, i + 1) ? i : i + 1;

		/* overwrites no point that history_turns() reads later: N is below their indices */
		h->point[n++] = h->point[keep];
	}
	if (h->n % 2 == 0)
		h->point[n++] = h->point[h->n - 1];
	h->n = n;
	if (h->stride < STRIDE_MAX)
		h->stride *= 2;
}

static bool grow_history(struct history *h)
{
	unsigned capacity = h->capacity ? h->capacity * 2 : POINTS_FIRST;
	struct history_point *more;

	if (capacity > HISTORY_POINTS)
		capacity = HISTORY_POINTS;
	more = realloc(h->point, capacity * sizeof(*more));
	if (!more)
		return false;
	h->point = more;
	h->capacity = capacity;
	return true;
}

void history_add(struct history *h, const struct history_sample *s)
{
	int16_t domain = s->domain >= 0 && s->domain <= INT16_MAX ? (int16_t)s->domain : -1;
	const struct history_point *last;
	struct history_point *p;
	double since;

	if (!h->n) {
		h->first = s->time;
		h->stride = 1;
	}
	h->skipped++;
	last = h->n ? &h->point[h->n - 1] : NULL;
	if (last && last->class == s->class && last->domain == domain && h->skipped < h->stride)
		return;
	if (h->n == h->capacity && h->n == HISTORY_POINTS)
		halve_history(h);
	if (h->n == h->capacity && !grow_history(h))
		return;
	since = (s->time - h->first) * 10;
	p = &h->point[h->n];
	p->at = since > 0 && since < UINT32_MAX ? (uint32_t)(since + 0.5) : 0;
	if (h->n && p->at < p[-1].at)
		p->at = p[-1].at;
	p->rate = s->rate < CLASSIFY_RATE_MAX ? s->rate : CLASSIFY_RATE_MAX;
	p->class = (uint8_t)s->class;
	p->domain = domain;
	h->n++;
	h->skipped = 0;
}

static bool history_is_of(const struct history_entry *e, const struct observed_step *step,
			  const struct observed_rank *rank)
{
	return e->pid == rank->pid && e->job == step->job && e->step == step->step &&
	       e->start == rank->start;
}

/*
 * Find the entry of RANK. Ranks come in the same order each time, so begin to search after the
 * entry that was found last.
 */
static struct history_entry *find_entry(struct histories *all, const struct observed_step *step,
					const struct observed_rank *rank)
{
	for (unsigned i = 0; i < all->n; i++) {
		unsigned at = all->cursor + i;

		at -= at >= all->n ? all->n : 0;
		if (history_is_of(&all->entry[at], step, rank)) {
			all->cursor = at + 1 < all->n ? at + 1 : 0;
			return &all->entry[at];
		}
	}
	return NULL;
}

static struct history_entry *add_entry(struct histories *all, const struct observed_step *step,
				       const struct observed_rank *rank)
{
	struct history_entry *more;

	if (all->n == HISTORY_RANKS_MAX)
		return NULL;
	more = realloc(all->entry, (all->n + 1) * sizeof(*more));
	if (!more)
		return NULL;
	all->entry = more;
	more[all->n] = (struct history_entry){
		.job = step->job, .step = step->step, .pid = rank->pid, .start = rank->start
	};
	return &more[all->n++];
}

static void drop_unseen(struct histories *all)
{
	unsigned n = 0;

	for (unsigned i = 0; i < all->n; i++) {
		if (all->entry[i].seen) {
			all->entry[i].seen = false;
			all->entry[n++] = all->entry[i];
		} else {
			history_free(&all->entry[i].history);
		}
	}
	all->n = n;
	all->cursor = 0;
}

void histories_add(struct histories *all, const struct observed_node *node)
{
	for (unsigned i = 0; i < node->n_steps; i++)
		for (unsigned k = 0; k < node->step[i].n; k++) {
			const struct observed_rank *r = &node->step[i].rank[k];
			struct history_entry *e = find_entry(all, &node->step[i], r);

			if (!e)
				e = add_entry(all, &node->step[i], r);
			if (!e)
				continue;
			e->seen = true;
			history_add(&e->history,
				    &(struct history_sample){ node->time, classify_mean(&r->state),
							      r->state.class, r->domain });
		}
	drop_unseen(all);
}

const struct history *histories_find(struct histories *all, const struct observed_step *step,
				     const struct observed_rank *rank)
{
	const struct history_entry *e = find_entry(all, step, rank);

	return e ? &e->history : NULL;
}

void histories_free(struct histories *all)
{
	for (unsigned i = 0; i < all->n; i++)
		history_free(&all->entry[i].history);
	free(all->entry);
	*all = (struct histories){ 0 };
}
