/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decide which processes of the steps are ranks. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "container/step_id.h"
#include "contention/domains.h"
#include "contention/ranks_impl.h"

/* bytes of cgroup.procs: 7 digits and a newline for each process */
#define SCAN_PROCS_BYTES (RANKS_STEP_PROCESSES_MAX * 8)

/* A process of a step. */
struct scan_process {
	struct process_seen seen;
	unsigned task; /* index of its task in the step */
	bool launcher;
};

struct scan {
	struct ranks *r;
	struct observed_node *node;
	struct errbuf *bad;
	struct rank_step *s;
	struct observed_step *o;
	double seconds; /* seconds since the last scan; 0: this is the first scan */
	unsigned left; /* number of processes that may still be read */
	bool cut; /* the step has more processes than could be read */
	unsigned next_idle; /* index at which the next search begins */
	unsigned n;
	struct scan_process *process; /* RANKS_STEP_PROCESSES_MAX elements */
	char *text; /* SCAN_PROCS_BYTES + 1 bytes */
};

/*
 * Return whether COMMAND is a program that starts ranks of an MPI job on its own host. The kernel
 * cuts names after 15 bytes.
 */
static bool scan_is_launcher(const char *command)
{
	static const char *const launcher[] = {
		"prted",   "orted",   "hydra_pmi_proxy", "hydra_bstrap_pr", "pmi_proxy",
		"prterun", "orterun", "mpirun",		 "mpiexec",	    "mpiexec.hydra",
	};

	for (unsigned i = 0; i < sizeof(launcher) / sizeof(launcher[0]); i++)
		if (strcmp(command, launcher[i]) == 0)
			return true;
	return false;
}

/* Return whether COMMAND is a program by which launchers reach other hosts. */
static bool scan_is_remote_shell(const char *command)
{
	return strcmp(command, "srun") == 0 || strcmp(command, "ssh") == 0;
}

/* Read the process of rank I again. */
static int scan_read_again(const struct scan *l, unsigned i, struct process_seen *out)
{
	const struct observed_rank *rank = &l->o->rank[i];

	return process_seen_again(out, &l->r->source, rank->pid, rank->start, l->s->own[i].status);
}

/*
 * Return whether errno says that the last call failed because no descriptor was free. Then set CUT:
 * what the call did not open may exist, so this scan drops no rank only because it did not find the
 * rank.
 */
static bool scan_lacks_files(struct scan *l)
{
	if (errno != EMFILE && errno != ENFILE)
		return false;
	l->cut = true;
	errprintf(l->bad, "no descriptor is free; raise LimitNOFILE of nodeos-contend.service");
	return true;
}

/* Read process PID of task number TASK. */
static void scan_read_process(struct scan *l, pid_t pid, unsigned task)
{
	struct scan_process *p = &l->process[l->n];
	struct rank_step *s = l->s;

	l->left--;
	/*
	 * most processes are ranks, and come in the order of the ranks, so first try the next two
	 * ranks
	 */
	for (unsigned k = 0; k < 2 && k < s->n; k++) {
		unsigned i = (s->next_rank + k) % s->n;

		if (l->o->rank[i].pid == pid && scan_read_again(l, i, &p->seen) == 0)
			goto seen;
	}
	if (process_seen_read(&p->seen, &l->r->source, pid) < 0) {
		scan_lacks_files(l);
		return;
	}
seen:
	if (p->seen.ended || p->seen.pid != pid)
		return;
	ranks_index(s, l->o, &p->seen); /* the next search starts after this rank */
	p->task = task;
	p->launcher = scan_is_launcher(p->seen.command);
	s->task[task].launcher |= p->launcher;
	l->n++;
}

/* Read the processes of task number TASK. Returns 0, or -1 if its directory was removed. */
static int scan_read_task(struct scan *l, unsigned task)
{
	struct rank_task *t = &l->s->task[task];
	int fd = t->dir < 0 ? -1
			    : openat(t->dir, "cgroup.procs", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	size_t used = 0;
	unsigned had = l->n;
	ssize_t n = -1;

	if (fd < 0)
		return t->dir >= 0 && scan_lacks_files(l) ? 0 : -1;
	while (used < SCAN_PROCS_BYTES &&
	       (n = read(fd, l->text + used, SCAN_PROCS_BYTES - used)) > 0)
		used += (size_t)n;
	close(fd);
	if (n < 0)
		return errno == ENODEV ? -1 : 0;
	l->text[used] = '\0';
	for (char *at = l->text, *end; *at; at = *end ? end + 1 : end) {
		long pid = strtol(at, &end, 10);

		if (end == at || *end != '\n') /* the last number may be truncated */
			break;
		if (l->n == RANKS_STEP_PROCESSES_MAX || !l->left) {
			errprintf(l->bad,
				  "job %u has too many processes: only %u of a step and %u in "
				  "total are read, so some of its ranks may be missing",
				  l->o->job, RANKS_STEP_PROCESSES_MAX, RANKS_PROCESSES_MAX);
			l->cut = true;
			break;
		}
		if (pid > 0)
			scan_read_process(l, (pid_t)pid, task);
	}
	t->alone &= l->n - had <= 1;
	return 0;
}

static void scan_keep(struct scan *l, const struct scan_process *p, enum observed_kind kind)
{
	const struct rank_found found = { &p->seen, &l->s->task[p->task], kind };
	struct errbuf err;

	if (ranks_keep(l->r, l->s, l->o, &found, &err) < 0)
		errcopy(l->bad, &err);
}

/*
 * Choose the rank of a task of srun among the processes FROM to TO: the present rank of the task,
 * or else the process that started first.
 */
static void scan_choose_first(struct scan *l, unsigned from, unsigned to)
{
	const struct scan_process *first = NULL;

	for (unsigned i = from; i < to; i++) {
		const struct scan_process *p = &l->process[i];
		int k = ranks_index(l->s, l->o, &p->seen);

		if (k >= 0 && l->o->rank[k].kind == OBSERVED_TASK) {
			first = p;
			break;
		}
		if (!first || p->seen.start < first->seen.start ||
		    (p->seen.start == first->seen.start && p->seen.pid < first->seen.pid))
			first = p;
	}
	if (first)
		scan_keep(l, first, OBSERVED_TASK);
}

/* Return whether process PARENT is a launcher among the processes FROM to TO of one task. */
static bool scan_has_launcher(const struct scan *l, unsigned from, unsigned to, pid_t parent)
{
	for (unsigned i = from; i < to; i++)
		if (l->process[i].launcher && l->process[i].seen.pid == parent)
			return true;
	return false;
}

/* Return whether P has used more than half a CPU since the last scan. */
static bool scan_is_busy(struct scan *l, const struct process_seen *p)
{
	for (unsigned n = 0; n < l->s->n_idle && l->seconds > 0; n++) {
		const struct rank_idle *was = &l->s->idle[(l->next_idle + n) % l->s->n_idle];

		/*
		 * search after the last result: most processes come in the order of the last scan
		 */
		if (was->pid != p->pid || was->start != p->start)
			continue;
		l->next_idle = (unsigned)(was - l->s->idle) + 1;
		return (double)(p->ticks - was->ticks) > l->seconds / 2 * (double)l->r->ticks;
	}
	return false;
}

/* Choose the ranks among the processes FROM to TO, of a task without an OBSERVED_TASK. */
static void scan_choose_others(struct scan *l, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		const struct scan_process *p = &l->process[i];
		int k = ranks_index(l->s, l->o, &p->seen);
		bool was_child = k >= 0 && l->o->rank[k].kind == OBSERVED_CHILD;
		bool was_busy = k >= 0 && l->o->rank[k].kind == OBSERVED_BUSY;

		if (p->launcher)
			continue;
		/* a child stays an OBSERVED_CHILD after its launcher has ended */
		if (was_child || (!scan_is_remote_shell(p->seen.command) &&
				  scan_has_launcher(l, from, to, p->seen.parent)))
			scan_keep(l, p, OBSERVED_CHILD);
		else if (was_busy || scan_is_busy(l, &p->seen))
			scan_keep(l, p, OBSERVED_BUSY);
	}
}

/* Keep the CPU times of processes that may become OBSERVED_BUSY until the next scan. */
static void scan_remember(struct scan *l)
{
	struct rank_idle *idle = reallocarray(l->s->idle, l->n + 1, sizeof(*idle));
	unsigned n = 0;

	if (!idle)
		return;
	for (unsigned i = 0; i < l->n; i++) {
		const struct process_seen *p = &l->process[i].seen;
		const struct rank_task *t = &l->s->task[l->process[i].task];

		if (!l->s->tasks_of_srun || t->launcher)
			idle[n++] = (struct rank_idle){ p->pid, p->start, p->ticks };
	}
	l->s->idle = idle;
	l->s->n_idle = n;
}

/*
 * Return whether rank I has ended. If not all processes of the step were read, the rank may be
 * alive although this scan has not found it.
 */
static bool scan_has_lost(struct scan *l, unsigned i)
{
	struct process_seen p;

	if (l->s->own[i].scan == l->r->scan)
		return false;
	if (!l->cut)
		return true;
	errno = 0;
	if (scan_read_again(l, i, &p) < 0)
		return !scan_lacks_files(l);
	return p.ended || p.start != l->o->rank[i].start;
}

/* Drop the ranks that have ended, and set CPUs and domains of the others. */
static void scan_settle_ranks(struct scan *l)
{
	for (unsigned i = l->o->n; i-- > 0;)
		if (scan_has_lost(l, i))
			ranks_drop(l->r, l->s, l->o, i);
	for (unsigned i = 0; i < l->n; i++) {
		int k = ranks_index(l->s, l->o, &l->process[i].seen);

		if (k >= 0)
			ranks_place(l->r, l->node, &l->s->task[l->process[i].task], &l->o->rank[k]);
	}
}

static int scan_by_pid(const void *a, const void *b)
{
	const struct scan_process *x = a, *y = b;

	return (x->seen.pid > y->seen.pid) - (x->seen.pid < y->seen.pid);
}

/* Return the index of the parent of P[I] in P, which has N processes sorted by pid, or -1. */
static int scan_parent(const struct scan_process *p, unsigned n, int i)
{
	const struct scan_process key = { .seen = { .pid = p[i].seen.parent } };
	const struct scan_process *found = bsearch(&key, p, n, sizeof(*p), scan_by_pid);

	return found ? (int)(found - p) : -1;
}

/*
 * Keep those of the N processes P of a vnode that descend from process STEPD, and drop the others.
 * Returns the number of kept processes, or -1 if out of memory.
 */
static int scan_keep_started(struct scan_process *p, unsigned n, pid_t stepd)
{
	enum { UNKNOWN, STARTED, OTHER } *is = calloc(n + 1, sizeof(*is));
	int kept = 0;

	if (!is)
		return -1;
	qsort(p, n, sizeof(*p), scan_by_pid);
	for (int i = 0; i < (int)n; i++) {
		int end = i;
		unsigned turns = 0;
		bool started;

		/* the parents were not all read at one time, so they could form a circle */
		while (end >= 0 && is[end] == UNKNOWN && p[end].seen.parent != stepd && turns++ < n)
			end = scan_parent(p, n, end);
		started = end >= 0 && (p[end].seen.parent == stepd || is[end] == STARTED);
		for (int at = i; at >= 0 && is[at] == UNKNOWN;
		     at = at == end ? -1 : scan_parent(p, n, at))
			is[at] = started ? STARTED : OTHER;
	}
	for (unsigned i = 0; i < n; i++)
		if (is[i] == STARTED)
			p[kept++] = p[i];
	free(is);
	return kept;
}

/*
 * Choose the ranks of task I among the processes of its vnode, which begin at FROM. If the task is
 * a batch script or has a launcher, choose them as in a task's directory. Otherwise the children of
 * the task's slurmstepd are the ranks.
 */
static void scan_choose_started(struct scan *l, unsigned i, unsigned from)
{
	struct rank_task *t = &l->s->task[i];
	int kept = scan_keep_started(l->process + from, l->n - from, t->stepd);

	if (kept < 0) {
		errprintf(l->bad, "out of memory");
		l->cut = true;
		kept = 0;
	}
	l->n = from + (unsigned)kept;
	t->launcher = false;
	for (unsigned k = from; k < l->n; k++)
		t->launcher |= l->process[k].launcher;
	if (!l->s->tasks_of_srun || t->launcher) {
		scan_choose_others(l, from, l->n);
		return;
	}
	for (unsigned k = from; k < l->n; k++)
		if (l->process[k].seen.parent == t->stepd && !l->process[k].seen.kept_from_exec)
			scan_keep(l, &l->process[k], OBSERVED_CHILD);
}

static void scan_one_step(struct scan *l)
{
	struct rank_step *s = l->s;

	l->n = l->next_idle = 0;
	l->cut = false;
	for (unsigned i = 0; i < s->n_tasks; i++) {
		unsigned from = l->n;

		if (!s->task[i].watched)
			continue;
		s->task[i].gone = scan_read_task(l, i) < 0;
		if (s->task[i].stepd)
			scan_choose_started(l, i, from);
		else if (s->tasks_of_srun && !s->task[i].launcher)
			scan_choose_first(l, from, l->n);
		else
			scan_choose_others(l, from, l->n);
	}
	scan_remember(l);
	/* the ranks of a step of srun whose processes have all ended stay for the last document */
	if (l->n || !s->tasks_of_srun)
		scan_settle_ranks(l);
	for (unsigned i = s->n_tasks; i-- > 0;)
		if (s->task[i].gone)
			ranks_forget_task(l->r, s, i);
}

/* Forget tasks in vnodes whose slurmstepd has ended. Returns whether the step L->s has ended. */
static bool scan_has_ended(struct scan *l)
{
	struct rank_step *s = l->s;

	if (!s->in_vnodes)
		return cgroup_is_gone(l->r->conf.cgroup_fd, s->path, l->o->inode);
	for (unsigned i = s->n_tasks; i-- > 0;)
		if (!ranks_stepd_lives(l->r, &s->task[i]))
			ranks_forget_task(l->r, s, i);
	return !s->n_tasks;
}

static void scan_all_steps(struct scan *l)
{
	for (unsigned i = 0; i < l->node->n_steps; i++) {
		l->o = &l->node->step[i];
		l->s = ranks_step_find(l->r, l->o->inode);
		if (!l->s || l->o->ended)
			continue;
		if (scan_has_ended(l))
			l->o->ended = true;
		else
			scan_one_step(l);
	}
}

int ranks_scan(struct ranks *r, struct observed_node *node, struct errbuf *bad)
{
	double now = (double)monotonic_ms() / 1000;
	struct scan l = {
		.r = r,
		.node = node,
		.bad = bad,
		.seconds = r->scanned > 0 ? now - r->scanned : 0,
		.left = RANKS_PROCESSES_MAX,
	};

	errclear(bad);
	r->scanned = now;
	r->scan++;
	domains_quiet_cpus(&r->quiet, r->conf.sys_fd, r->conf.cgroup_fd);
	ranks_forget_steps(r, node);
	ranks_find_steps(r, node, bad);
	l.process = malloc(RANKS_STEP_PROCESSES_MAX * sizeof(*l.process));
	l.text = malloc(SCAN_PROCS_BYTES + 1);
	if (l.process && l.text)
		scan_all_steps(&l);
	else
		errprintf(bad, "out of memory");
	free(l.process);
	free(l.text);
	storage_tend(r->storage);
	return 0;
}
