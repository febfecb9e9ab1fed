/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "migration/mover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fileio.h"
#include "base/monotonic.h"
#include "contention/domains.h"
#include "host/apart.h"
#include "migration/decide.h"
#include "migration/devils.h"
#include "migration/journal.h"
#include "migration/mover_pages.h"

/* The result of the process that binds ranks. */
struct bound {
	int threads; /* -1: failed */
	struct errbuf why;
};
_Static_assert(sizeof(struct bound) <= APART_RESULT_MAX, "a result fits into one message");

struct mover {
	struct mover_host host;
	struct mover_pages *pages;
	bool begun; /* the journal of an earlier daemon was read */
	/* the move of cores that is under way */
	bool moves;
	struct apart_process child;
	struct decision decision;
	struct rebind_host rebind_host;
	char state_dir[DIR_PATH_MAX];
	bool unreaped;
	bool looks_again; /* ranks have moved since the last mover_decide() */
};

struct mover *mover_new(const struct mover_host *h)
{
	struct mover *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->host = *h;
	m->pages = mover_pages_new(h->cgroup_fd);
	if (m->pages)
		return m;
	free(m);
	return NULL;
}

void mover_free(struct mover *m)
{
	if (!m)
		return;
	mover_pages_free(m->pages);
	decision_free(&m->decision);
	free(m);
}

static double mover_clock(void)
{
	return (double)monotonic_ms() / 1000;
}

/* ------------------------------------------------------------------ the process that binds */

static void bind_apart(void *arg, void *result)
{
	const struct mover *m = arg;
	struct bound *b = result;

	b->threads = rebind_ranks(&m->decision.rebind, &m->rebind_host, &b->why);
}

/* Start the move of M's decision. Returns 0, or -1 with the reason. */
static int mover_start(struct mover *m, const struct conf *conf, struct errbuf *err)
{
	struct apart a = { .work = bind_apart,
			   .arg = m,
			   .size = sizeof(struct bound),
			   .keep_fd = m->host.cgroup_fd };

	snprintf(m->state_dir, sizeof(m->state_dir), "%s", conf->state_dir);
	m->rebind_host = (struct rebind_host){ .state_dir = m->state_dir,
					       .cgroup_fd = m->host.cgroup_fd,
					       .timeout = conf->helper_timeout };
	a.seconds = rebind_seconds(&m->rebind_host);
	if (!m->decision.rebind.again &&
	    journal_write(m->host.run_fd, &m->decision.rebind, err) < 0)
		return -1;
	if (apart_start(&m->child, &a, err) < 0) {
		/* if an earlier process began the move, the journal stays until it is complete */
		if (!m->decision.rebind.again)
			journal_remove(m->host.run_fd);
		return -1;
	}
	m->moves = m->unreaped = true;
	return 0;
}

/* ------------------------------------------------------------------ results of moves */

/*
 * A task has moved: note that for each of its processes. Returns its step; NULL: the step has
 * ended.
 */
static struct observed_step *note_moved(struct mover *m, struct observed_node *node,
					const struct rebind_rank *moved)
{
	struct observed_step *s = observed_step_find(node, moved->step_inode);

	for (unsigned i = 0; s && i < s->n; i++) {
		struct observed_rank *r = &s->rank[i];

		if (strcmp(r->task, moved->task) != 0)
			continue;
		r->cpus = moved->next;
		r->domain = domains_of(node, &r->cpus);
		r->moves++;
		r->moved = mover_clock();
	}
	if (s)
		mover_pages_want(m->pages, s->inode, moved->task);
	return s;
}

static void note_place(struct mover *m, struct observed_node *node, const struct rebind_place *p)
{
	for (unsigned i = 0; i < p->n; i++) {
		struct observed_placing *placing;
		struct observed_step *s;

		/* ranks that stay are listed, too, if their container gets other CPUs */
		if (idset_equal(&p->rank[i].now, &p->rank[i].next))
			continue;
		s = note_moved(m, node, &p->rank[i]);
		placing = s ? observed_get_placing(s, p->name) : NULL;
		if (!placing)
			continue;
		placing->moves++;
		snprintf(placing->why, sizeof(placing->why), "%s", m->decision.why);
	}
}

/* The move has failed: its ranks are left alone for a while, as after a move that succeeded. */
static void note_failed(struct observed_node *node, const struct rebind_place *p, const char *why)
{
	for (unsigned i = 0; i < p->n; i++) {
		struct observed_step *s = observed_step_find(node, p->rank[i].step_inode);
		struct observed_placing *placing = s ? observed_get_placing(s, p->name) : NULL;

		if (placing)
			snprintf(placing->why, sizeof(placing->why), "not moved: %.140s", why);
		for (unsigned k = 0; s && k < s->n; k++)
			if (strcmp(s->rank[k].task, p->rank[i].task) == 0)
				s->rank[k].moved = mover_clock();
	}
}

static void check_cores(struct mover *m, struct observed_node *node, struct errbuf *bad)
{
	struct bound b;
	struct errbuf err = { 0 };
	enum apart_end end;

	if (m->unreaped && !m->moves)
		m->unreaped = !apart_abandon(&m->child);
	if (!m->moves)
		return;
	end = apart_check(&m->child, &b, &err);
	if (end == APART_AT_WORK)
		return;
	m->moves = false;
	m->unreaped = !apart_abandon(&m->child);
	if (end == APART_DONE && b.threads < 0)
		errcopy(&err, &b.why);
	m->looks_again = end == APART_DONE && b.threads >= 0;
	for (unsigned i = 0; i < m->decision.rebind.n; i++)
		if (m->looks_again)
			note_place(m, node, &m->decision.rebind.place[i]);
		else
			note_failed(node, &m->decision.rebind.place[i], err.text);
	/*
	 * a process that was killed may have bound some ranks: the next process completes the move
	 */
	if (end == APART_DONE)
		journal_remove(m->host.run_fd);
	else
		m->begun = false;
	if (*err.text)
		errprintf(bad, "ranks of container %s have not been moved: %.200s",
			  m->decision.rebind.n ? m->decision.rebind.place[0].name : "?", err.text);
	decision_free(&m->decision);
}

void mover_finish(struct mover *m, struct observed_node *node)
{
	const struct timespec pause = { 0, 20000000 };
	struct errbuf ignored;

	while (m && m->moves) {
		check_cores(m, node, &ignored);
		if (m->moves)
			nanosleep(&pause, NULL);
	}
}

bool mover_check(struct mover *m, struct observed_node *node, struct errbuf *bad)
{
	errclear(bad);
	check_cores(m, node, bad);
	mover_pages_check(m->pages, node, bad);
	return m->looks_again && !m->unreaped;
}

/* ------------------------------------------------------------------ decisions */

struct mover_pass {
	struct mover *m;
	struct observed_node *node;
	const struct conf *conf;
	struct errbuf *bad;
};

/* Is the kernel's numa_balancing on? */
static bool balances_pages(void)
{
	char text[16];
	struct errbuf ignored;

	return file_read(AT_FDCWD, "/proc/sys/kernel/numa_balancing", text, sizeof(text),
			 &ignored) > 0 &&
	       strtol(text, NULL, 10) > 0;
}

/* Record D's reason for the steps with ranks in container PLACE. */
static void note_reason(struct observed_node *node, const struct decide_input *in,
			const struct decision *d, const char *place)
{
	bool numa_balancing = balances_pages();

	for (unsigned i = 0; i < node->n_steps; i++) {
		struct observed_step *s = &node->step[i];
		struct observed_placing *placing;
		bool here = false;

		if (s->ended || s->job != in->job->job_id ||
		    (in->own && s->inode != in->own->inode))
			continue;
		for (unsigned k = 0; k < s->n && !here; k++)
			here = strcmp(s->rank[k].container, place) == 0;
		placing = here ? observed_get_placing(s, place) : NULL;
		if (!placing)
			continue;
		placing->policy = d->policy;
		placing->numa_balancing = numa_balancing;
		snprintf(placing->units, sizeof(placing->units), "%s", d->units);
		if (!d->moves)
			snprintf(placing->why, sizeof(placing->why), "%s", d->why);
	}
}

static void take_decision(struct mover_pass *look, const struct decide_input *in,
			  struct decision *d)
{
	const struct job_plan *plan = in->own ? in->own->plan : in->job->plan;

	for (unsigned i = 0; i < plan->n; i++)
		if (d->containers >> i & 1) {
			note_reason(look->node, in, d, plan->container[i].name);
			mover_pages_consider(look->m->pages, in, &plan->container[i]);
		}
	if (!d->moves || look->m->moves) {
		decision_free(d);
		return;
	}
	look->m->decision = *d;
	if (mover_start(look->m, look->conf, look->bad) < 0)
		decision_free(&look->m->decision);
}

static void decide_plan_of(struct mover_pass *look, struct ledger_job *job, struct ledger_step *own)
{
	const struct decide_input in = {
		.job = job, .own = own, .node = look->node, .conf = look->conf, .now = mover_clock()
	};
	uint64_t group[REQUEST_CONTAINERS_MAX];
	int n = decide_groups(group, &in);
	struct decision d;

	if (n < 0)
		errprintf(look->bad, "out of memory");
	for (int i = 0; i < n; i++) {
		if (decide_group(&d, &in, group[i]) < 0)
			errprintf(look->bad, "out of memory");
		else
			take_decision(look, &in, &d);
	}
}

/* Does NODE have a rank of this job? */
static bool is_observed_job(const struct observed_node *node, uint32_t job)
{
	for (unsigned i = 0; i < node->n_steps; i++)
		if (node->step[i].job == job && !node->step[i].ended)
			return true;
	return false;
}

/* Decide for a job of the ledger, in a copy of its entry: loading ranks changes the entry. */
static int decide_entry(const struct ledger_job *seen, void *arg)
{
	struct mover_pass *look = arg;
	struct ledger_job *job = NULL;
	struct errbuf err = { 0 };

	mover_pages_see(look->m->pages, seen);
	if (!is_observed_job(look->node, seen->job_id))
		return 0;
	if (ledger_peek(look->conf->state_dir, seen->inode, &job, &err) < 0 || !job) {
		if (*err.text)
			errcopy(look->bad, &err);
		return 0;
	}
	for (unsigned i = 0; i < job->n_steps; i++) {
		if (ledger_step_load_ranks(&job->step[i], &err) < 0) {
			errcopy(look->bad, &err);
			ledger_job_free(job);
			return 0;
		}
		ledger_step_drop_ended(&job->step[i], look->m->host.cgroup_fd);
	}
	decide_plan_of(look, job, NULL);
	for (unsigned i = 0; i < job->n_steps; i++)
		if (job->step[i].plan)
			decide_plan_of(look, job, &job->step[i]);
	if (devils_note(job, look->node, look->conf) > 0 &&
	    devils_record(job->inode, look->m->host.cgroup_fd, look->node, look->conf, &err) < 0)
		errcopy(look->bad, &err);
	ledger_job_free(job);
	return 0;
}

/* Repeat a move that an earlier daemon had begun when it was killed. */
static void take_journal(struct mover *m, const struct conf *conf, struct errbuf *bad)
{
	int rc;

	memset(&m->decision, 0, sizeof(m->decision));
	rc = journal_read(&m->decision.rebind, m->host.run_fd, bad);
	if (rc < 0 && errno != EBADMSG)
		/*
		 * a failure that may pass, such as no free descriptor: the next mover_decide()
		 * reads the journal again
		 */
		return;
	if (rc < 0)
		journal_remove(m->host.run_fd);
	if (rc > 0 && mover_start(m, conf, bad) < 0) {
		decision_free(&m->decision);
		return; /* retried at the next mover_decide() */
	}
	snprintf(m->decision.why, sizeof(m->decision.why), "ranks move");
	m->begun = true;
}

/* Has a step containers? If no step has, the ledger need not be read. */
static bool may_place(const struct observed_node *node)
{
	for (unsigned i = 0; i < node->n_steps; i++)
		if (!node->step[i].ended && node->step[i].contained)
			return true;
	return false;
}

void mover_decide(struct mover *m, struct observed_node *node, const struct conf *conf,
		  struct errbuf *bad)
{
	struct mover_pass look = { .m = m, .node = node, .conf = conf, .bad = bad };
	const struct ledger_at at = { conf->state_dir, m->host.cgroup_fd };
	const struct ledger_whose all = { .uid = (uid_t)-1 };
	struct errbuf err;

	errclear(bad);
	if (m->moves || m->unreaped)
		return;
	m->looks_again = false;
	if (!m->begun)
		take_journal(m, conf, bad);
	/* the journal must be read before another move overwrites it */
	if (!m->begun || !may_place(node))
		return;
	mover_pages_begin(m->pages, conf, m->host.about ? m->host.about->row : NULL);
	if (ledger_read_unlocked(&at, &all, decide_entry, &look, bad, &err) < 0)
		errcopy(bad, &err);
}
