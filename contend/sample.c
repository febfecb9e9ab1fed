/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contend/sample.h"

#include <errno.h>

#include "contention/process.h"

/* Return whether the process is stopped or frozen. If it has ended, count it in PASS->gone. */
static bool is_stopped(struct sample_pass *pass, pid_t pid)
{
	bool stopped = process_is_stopped(pass->proc_fd, pid);

	if (errno == ESRCH) {
		pass->gone++;
		return false;
	}
	return stopped || process_is_frozen(pass->proc_fd, pass->cgroup_fd, pid);
}

/*
 * Add the counts of an interval to the rank's totals. REMOTE is the unscaled number of remote
 * misses in the interval.
 */
static void add_totals(struct observed_rank *rank, const struct rank_sample *s, uint64_t remote,
		       const struct counter_reading *before, const struct counter_reading *now)
{
	uint64_t running = now->running - before->running;

	if (s->kind == SAMPLE_MISSING)
		return;
	rank->instructions += s->instructions;
	rank->misses += s->misses;
	if (s->kind == SAMPLE_SCALED && running)
		remote = (uint64_t)((double)remote * (double)(now->enabled - before->enabled) /
				    (double)running);
	if (rank->remote != OBSERVED_UNKNOWN)
		rank->remote += remote;
}

static void add_sample(struct observed_rank *rank, const struct classify_conf *bounds,
		       const struct rank_sample *s, double time)
{
	enum rank_class before = rank->state.class;

	classify_add(&rank->state, bounds, s);
	rank->scaled = (rank->state.scaled & rank->state.present) != 0;
	if (rank->state.class != before)
		rank->since = time;
}

/* Close the counters of a rank, which have failed: its class is unknown from now on. */
static void lose_counters(struct counted *c, struct observed_rank *rank,
			  const struct classify_conf *bounds, const struct sample_pass *pass)
{
	struct rank_sample s = { .kind = SAMPLE_NO_COUNTER,
				 .milliseconds = (uint32_t)(pass->now - c->read_at) };

	counters_end(c->group);
	c->group = NULL;
	c->tried = true;
	rank->pace = (struct observed_pace){ .begun = false };
	snprintf(rank->why, sizeof(rank->why), "%.127s", pass->why.text);
	add_sample(rank, bounds, &s, pass->time);
}

static void read_rank(struct counted *c, struct observed_rank *rank,
		      const struct classify_conf *bounds, struct sample_pass *pass)
{
	struct rank_sample s = { .milliseconds = (uint32_t)(pass->now - c->read_at) };
	struct counter_reading now;
	uint64_t remote = 0;

	rank->counted = (double)pass->now / 1000;
	if (counters_read(c->group, &now, &remote, &pass->why) < 0) {
		pass->lost++;
		lose_counters(c, rank, bounds, pass);
		return;
	}
	classify_difference(&s, bounds, &c->before, &now);
	rank->interrupts = c->interrupts_before + counters_interrupts(c->group);
	if (now.enabled >= c->before.enabled && s.milliseconds)
		rank->cpu = (now.enabled - c->before.enabled) / s.milliseconds / 1000;
	s.cpu = rank->cpu > UINT32_MAX ? UINT32_MAX : (uint32_t)rank->cpu;
	/*
	 * check the process only if it has not run since the last reading, and if the rank was not
	 * idle before; otherwise its state makes no difference
	 */
	c->stopped = now.enabled == c->before.enabled && (c->stopped || !rank->state.idle) &&
		     is_stopped(pass, c->pid);
	if (!c->stopped) {
		uint64_t more = remote >= c->remote_before ? remote - c->remote_before : 0;

		add_totals(rank, &s, more, &c->before, &now);
		add_sample(rank, bounds, &s, pass->time);
	}
	c->before = now;
	c->remote_before = remote;
	c->read_at = pass->now;
}

void sample_ranks(struct counted_table *t, struct observed_node *node, struct sample_pass *pass)
{
	unsigned k = 0;

	for (unsigned s = 0; s < node->n_steps; s++)
		for (unsigned i = 0; i < node->step[s].n; i++, k++) {
			struct observed_rank *rank = &node->step[s].rank[i];
			struct counted *c;
			unsigned least;

			if (k >= t->n)
				return; /* the table has no entries, see counted_match() */
			c = &t->rank[k];
			least = rank->quiet ? pass->least_quiet : pass->least;
			if (!c->group || pass->now - c->read_at < (long)least)
				continue;
			read_rank(c, rank, &node->bounds, pass);
		}
}
