/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/call_limit.h"
#include "counters/counters_provider.h"

/*
 * The provider of perf_event_open(). When counting begins, each thread of the process gets a group
 * of the row's events; on request, so does each thread of its children. Threads that start later
 * inherit the events; on request, so do processes. A rank that is counted before it executes its
 * program has one thread, and so one group. A total is the sum of the counts between reads. If the
 * kernel counted the events of a thread for unequal times between two reads, each count is scaled
 * down to the shortest of these times, so that ratios of the counts compare equal times.
 */
#define EVENTS_MAX (1 + EVENTS_MISSES_MAX + EVENTS_REMOTE_MAX)
/* nanoseconds: a form is used only if all events count within this time */
#define TRIAL_NS 100000000
#define ATTACH_MS 50 /* milliseconds that attaching to a rank may take */
/*
 * Users choose how many threads a rank has. So the counters of one rank may use RANK_MIN
 * descriptors, or 1 / RANK_SHARE of all (RLIMIT_NOFILE) if that is more. The counters of all ranks
 * together may use three quarters.
 */
#define RANK_SHARE 8
#define RANK_MIN 256
#define TRIES 8 /* attempts to attach to all threads while no new thread begins */

__extension__ typedef unsigned __int128 product;

/* How the events of a thread are opened, in order of preference. */
enum perf_form {
	FORM_GROUP, /* counted together, and read by one call */
	FORM_PART, /* as a group, without remote misses: for processors with too few counters */
	FORM_SINGLE, /* each event alone; the kernel counts them in turn */
	FORMS
};

enum total { INSTRUCTIONS, MISSES, REMOTE, TOTALS };

/* The events to open on this host, and the limits of counters and time. */
struct perf_plan {
	uint32_t type;
	bool user_only;
	struct call_limit limit;
	enum perf_form form;
	unsigned open; /* number of open descriptors of all ranks */
	unsigned n;
	struct {
		uint64_t config, config1;
		enum total total; /* the total to which this event is added */
	} event[EVENTS_MAX];
};

struct perf_count {
	uint64_t value, enabled, running;
};

struct perf_thread {
	pid_t tid;
	int fd[EVENTS_MAX];
	struct perf_count last[EVENTS_MAX];
};

/* The counters of a rank. */
struct perf_rank {
	unsigned n;
	struct perf_thread *thread;
	bool unsettled; /* threads began while the counters of the others were being opened */
	int64_t read_at; /* nanoseconds, CLOCK_MONOTONIC */
	uint64_t total[TOTALS], enabled, running;
};

static int64_t perf_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

/* ---------------------------------------------------------------- a thread */

static void close_thread(const struct perf_plan *plan, struct perf_thread *t)
{
	/* members first: when a leader is closed, each remaining member becomes a group */
	for (unsigned i = plan->n; i-- > 0;)
		if (t->fd[i] >= 0)
			close(t->fd[i]);
}

/*
 * Open the events for thread TID (0: the caller). CHILDREN: processes inherit them, too. Returns 0,
 * or -1 with errno and, in *FAILED, the index of the event that could not be opened.
 */
static int open_thread(const struct perf_plan *plan, pid_t tid, bool children,
		       struct perf_thread *t, unsigned *failed)
{
	*t = (struct perf_thread){ .tid = tid };
	for (unsigned i = 0; i < plan->n; i++)
		t->fd[i] = -1;
	for (unsigned i = 0; i < plan->n; i++) {
		struct perf_event_attr attr = {
			.type = plan->type,
			.size = sizeof(attr),
			.config = plan->event[i].config,
			.config1 = plan->event[i].config1,
			.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
				       PERF_FORMAT_TOTAL_TIME_RUNNING,
			.inherit = 1,
			.inherit_thread = !children,
			.exclude_kernel = plan->user_only,
		};
		int leader = i && plan->form != FORM_SINGLE ? t->fd[0] : -1;

		if (plan->form != FORM_SINGLE)
			attr.read_format |= PERF_FORMAT_GROUP;
		t->fd[i] = (int)syscall(SYS_perf_event_open, &attr, tid, -1, leader,
					PERF_FLAG_FD_CLOEXEC);
		if (t->fd[i] < 0) {
			int error = errno;

			close_thread(plan, t);
			*failed = i;
			errno = error;
			return -1;
		}
	}
	return 0;
}

/* Check GOT, the result of a read() of WANTED bytes. Returns 0, or -1 with errno. */
static int check_read(ssize_t got, size_t wanted)
{
	if (got == (ssize_t)wanted)
		return 0;
	if (got >= 0)
		errno = ENODEV; /* the event stays in an error state */
	return -1;
}

static int read_thread(const struct perf_plan *plan, const struct perf_thread *t,
		       struct perf_count now[EVENTS_MAX])
{
	/*
	 * a group gives: number of values, enabled, running, values; a single event: value,
	 * enabled, running
	 */
	uint64_t buf[3 + EVENTS_MAX];
	size_t size = (3 + plan->n) * sizeof(buf[0]);

	if (plan->form != FORM_SINGLE) {
		if (check_read(read(t->fd[0], buf, size), size) < 0)
			return -1;
		for (unsigned i = 0; i < plan->n; i++)
			now[i] = (struct perf_count){ buf[3 + i], buf[1], buf[2] };
		return 0;
	}
	for (unsigned i = 0; i < plan->n; i++) {
		size = 3 * sizeof(buf[0]);
		if (check_read(read(t->fd[i], buf, size), size) < 0)
			return -1;
		now[i] = (struct perf_count){ buf[0], buf[1], buf[2] };
	}
	return 0;
}

static uint64_t increase(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/*
 * Add the counts of thread T since its last read to the totals of R. Returns the CPU time of T
 * since then, in nanoseconds.
 */
static uint64_t add_thread_counts(const struct perf_plan *plan, struct perf_rank *r,
				  struct perf_thread *t, const struct perf_count now[EVENTS_MAX])
{
	uint64_t ran = increase(now[0].enabled, t->last[0].enabled), shortest = UINT64_MAX;

	for (unsigned i = 0; i < plan->n; i++) {
		uint64_t running = increase(now[i].running, t->last[i].running);

		if (running < shortest)
			shortest = running;
	}
	for (unsigned i = 0; i < plan->n; i++) {
		uint64_t value = increase(now[i].value, t->last[i].value);
		uint64_t running = increase(now[i].running, t->last[i].running);

		if (running > shortest)
			value = (uint64_t)((product)value * shortest / running);
		r->total[plan->event[i].total] += value;
		t->last[i] = now[i];
	}
	r->enabled += ran;
	r->running += shortest;
	return ran;
}

/* ----------------------------------------------------------------- threads */

/* Numbers of threads or processes. */
struct id_list {
	unsigned n, capacity;
	pid_t *id; /* owned */
};

static int add_id(struct id_list *l, pid_t id)
{
	if (l->n == l->capacity) {
		unsigned capacity = 2 * l->capacity + 8;
		pid_t *more = reallocarray(l->id, capacity, sizeof(*more));

		if (!more)
			return -1;
		l->id = more;
		l->capacity = capacity;
	}
	l->id[l->n++] = id;
	return 0;
}

/* Append the threads of process PID, none if it has ended. Returns 0, or -1 with errno. */
static int add_threads(struct id_list *l, pid_t pid)
{
	char path[64];
	struct dirent *d;
	int rc = 0, error;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? 0 : -1;
	while (rc == 0 && (d = readdir(dir)))
		if (d->d_name[0] >= '0' && d->d_name[0] <= '9')
			rc = add_id(l, (pid_t)strtol(d->d_name, NULL, 10));
	error = errno;
	closedir(dir);
	errno = error;
	return rc;
}

/*
 * Append the children of thread TID of process PID, none if the thread has ended or the kernel does
 * not list them (CONFIG_PROC_CHILDREN). Returns 0, or -1 with errno.
 */
static int add_children(struct id_list *l, pid_t pid, pid_t tid)
{
	int child, rc = 0, error;
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)tid);
	f = fopen(path, "re");
	if (!f)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -1 : 0;
	while (rc == 0 && fscanf(f, "%d", &child) == 1)
		rc = add_id(l, child);
	error = errno;
	fclose(f);
	errno = error;
	return rc;
}

static int order_ids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

/*
 * Sort L, and remove duplicates: a process that gets another parent meanwhile is found with both
 * parents.
 */
static void sort_tids(struct id_list *l)
{
	unsigned n = 0;

	if (l->n)
		qsort(l->id, l->n, sizeof(*l->id), order_ids);
	for (unsigned i = 0; i < l->n; i++)
		if (!n || l->id[n - 1] != l->id[i])
			l->id[n++] = l->id[i];
	l->n = n;
}

/* Does L have a number that OLD lacks? Both are sorted. */
static bool has_new_id(const struct id_list *l, const struct id_list *old)
{
	unsigned k = 0;

	for (unsigned i = 0; i < l->n; i++) {
		while (k < old->n && old->id[k] < l->id[i])
			k++;
		if (k == old->n || old->id[k] != l->id[i])
			return true;
	}
	return false;
}

/*
 * Append the threads to be counted for G, in ascending order; none if its process has ended. Stops
 * after more than MOST. Returns 0, or -1 with errno.
 */
static int list_threads(struct id_list *out, const struct counter_group *g, uint64_t most)
{
	struct id_list process = { .n = 0 };
	int rc = add_id(&process, g->pid);

	for (unsigned i = 0; i < process.n && rc == 0 && out->n <= most; i++) {
		unsigned k = out->n;

		rc = add_threads(out, process.id[i]);
		for (; g->children && k < out->n && out->n <= most && rc == 0; k++)
			rc = add_children(&process, process.id[i], out->id[k]);
	}
	free(process.id);
	sort_tids(out);
	return rc;
}

static void close_threads(struct counter_group *g)
{
	struct perf_plan *plan = g->counters->data;
	struct perf_rank *r = g->data;

	for (unsigned i = 0; i < r->n; i++)
		close_thread(g->counters->data, &r->thread[i]);
	free(r->thread);
	r->thread = NULL;
	r->n = 0;
	plan->open -= g->descriptors;
	g->descriptors = 0;
}

static int open_error(const struct perf_plan *plan, unsigned failed, struct errbuf *err)
{
	if (errno == EINTR)
		return errprintf(err, "execve() of the process takes longer than %d ms", ATTACH_MS);
	return errprintf(err, "cannot open event 0x%" PRIx64 "/0x%" PRIx64 "%s: %s%s",
			 plan->event[failed].config, plan->event[failed].config1,
			 failed ? "" : " (instructions)", strerror(errno),
			 errno == EMFILE ? ": no descriptors are left, raise LimitNOFILE" : "");
}

/*
 * Does ERROR of event number FAILED mean that the thread has ended? A thread can end after the
 * leader of its group was opened: then Linux 6.15 and later return ENODEV.
 */
static bool has_ended(int error, unsigned failed)
{
	return error == ESRCH || (failed && error == ENODEV);
}

/* Return the greatest number of descriptors that a rank may have. */
static uint64_t rank_share(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return UINT32_MAX;
	return limit.rlim_cur / RANK_SHARE > RANK_MIN ? limit.rlim_cur / RANK_SHARE : RANK_MIN;
}

/* May the counters of N threads of G be opened? Returns 0, or -1 with the reason. */
static int check_share(const struct counter_group *g, unsigned n, struct errbuf *err)
{
	const struct perf_plan *plan = g->counters->data;
	uint64_t wanted = (uint64_t)n * plan->n, most = rank_share();
	struct rlimit limit;

	if (wanted > most)
		return errprintf(err,
				 "process %d%s has at least %u threads, whose counters need more "
				 "than %" PRIu64 " descriptors",
				 (int)g->pid, g->children ? ", with its children," : "", n, most);
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return 0;
	if (plan->open + wanted > limit.rlim_cur / 4 * 3 && plan->open)
		return errprintf(err, "no descriptors are left for counters: raise LimitNOFILE");
	return 0;
}

/* Open the events for the threads in L; skip threads that have ended. */
static int open_threads(struct counter_group *g, const struct id_list *l, struct errbuf *err)
{
	struct perf_plan *plan = g->counters->data;
	struct perf_rank *r = g->data;

	if (check_share(g, l->n, err) < 0)
		return -1;
	r->thread = calloc(l->n ? l->n : 1, sizeof(*r->thread));
	if (!r->thread)
		return errprintf(err, "out of memory");
	for (unsigned i = 0; i < l->n; i++) {
		unsigned failed;

		if (open_thread(plan, l->id[i], g->children, &r->thread[r->n], &failed) == 0) {
			r->n++;
			g->descriptors += plan->n;
			plan->open += plan->n;
		} else if (!has_ended(errno, failed)) {
			open_error(plan, failed, err);
			close_threads(g);
			return -1;
		}
	}
	if (!r->n) {
		close_threads(g);
		return errprintf(err, "process %d has ended", (int)g->pid);
	}
	return 0;
}

/*
 * Attach to the threads of the process, and of its children if these are to be counted. The kernel
 * does not show whether a new thread has inherited events. So the threads are listed before and
 * after the events are opened. If no thread is new, each thread has its own events, and later
 * threads inherit them; otherwise UNSETTLED is set.
 */
static int attach_once(struct counter_group *g, struct errbuf *err)
{
	const struct perf_plan *plan = g->counters->data;
	struct id_list before = { .n = 0 }, after = { .n = 0 };
	struct perf_rank *r = g->data;
	uint64_t most = rank_share() / plan->n;
	int rc;

	close_threads(g);
	rc = list_threads(&before, g, most) < 0
		     ? errprintf(err, "/proc/%d/task: %s", (int)g->pid, strerror(errno))
		     : open_threads(g, &before, err);
	if (rc == 0) {
		list_threads(&after, g, most);
		r->unsettled = has_new_id(&after, &before);
	}
	free(before.id);
	free(after.id);
	return rc;
}

static int attach_threads(struct counter_group *g, struct errbuf *err)
{
	const struct perf_plan *plan = g->counters->data;
	int64_t end = perf_clock() + ATTACH_MS * (int64_t)1000000;
	struct perf_rank *r = g->data;
	int rc = 0;

	r->unsettled = true;
	call_limit_begin(&plan->limit, ATTACH_MS);
	for (int i = 0; i < TRIES && rc == 0 && r->unsettled && (!i || perf_clock() < end); i++)
		rc = attach_once(g, err);
	call_limit_end(&plan->limit);
	return rc;
}

/* ------------------------------------------------------------------- ranks */

/*
 * Reading an event interrupts each other CPU that runs a thread which inherited the event. The
 * number of these threads is unknown. Their mean number is RAN / PASSED: the CPU time and the time
 * since the last read, in nanoseconds. PASSED is measured from before that read until after this
 * one: otherwise, if the reader is delayed between the two clocks, one running thread would look
 * like two. The mean is rounded up, except for a tenth above a whole number, because the clocks
 * differ.
 */
static void count_interrupts(struct counter_group *g, uint64_t ran, int64_t passed)
{
	const struct perf_plan *plan = g->counters->data;
	uint64_t all = passed > 0 ? (uint64_t)passed : 1, on = (ran + all - all / 10) / all;

	if (ran && !on)
		on = 1;
	g->interrupts += on * (plan->form != FORM_SINGLE ? 1 : plan->n);
}

/* Add the counts of all threads since the last read to the totals. Returns 0, or -1 with errno. */
static int add_all_counts(struct counter_group *g)
{
	const struct perf_plan *plan = g->counters->data;
	struct perf_rank *r = g->data;
	int64_t now = perf_clock();
	struct perf_count count[EVENTS_MAX];
	uint64_t ran;

	for (unsigned i = 0; i < r->n; i++) {
		if (read_thread(plan, &r->thread[i], count) < 0)
			return -1;
		ran = add_thread_counts(plan, r, &r->thread[i], count);
		count_interrupts(g, ran, perf_clock() - r->read_at);
	}
	r->read_at = now;
	return 0;
}

static int perf_begin(struct counter_group *g, struct errbuf *err)
{
	struct perf_rank *r = calloc(1, sizeof(*r));

	if (!r)
		return errprintf(err, "out of memory");
	g->data = r;
	r->read_at = perf_clock();
	if (attach_threads(g, err) == 0)
		return 0;
	free(r);
	return -1;
}

static int perf_renew(struct counter_group *g, struct errbuf *err)
{
	struct perf_rank *r = g->data;

	if (!r->unsettled)
		return 0;
	if (add_all_counts(g) < 0)
		return errprintf(err, "cannot read counters: %s", strerror(errno));
	return attach_threads(g, err);
}

static int perf_read(struct counter_group *g, struct counter_reading *out, uint64_t *remote,
		     struct errbuf *err)
{
	const struct perf_rank *r = g->data;

	if (!r->n)
		return errprintf(err, "process %d has no counters", (int)g->pid);
	/* ECHILD: a new thread inherited some of the events before all were open */
	if (add_all_counts(g) < 0 && (errno != ECHILD || attach_threads(g, err) < 0))
		return errprintf(err, "cannot read counters: %s", strerror(errno));
	*out = (struct counter_reading){
		.instructions = r->total[INSTRUCTIONS],
		.misses = r->total[MISSES],
		.enabled = r->enabled,
		.running = r->running,
	};
	*remote = r->total[REMOTE];
	return 0;
}

static void perf_end(struct counter_group *g)
{
	close_threads(g);
	free(g->data);
}

/* -------------------------------------------------------------------- host */

static void add_events(struct perf_plan *plan, const struct counter_event *e, unsigned n,
		       enum total total)
{
	for (unsigned i = 0; i < n; i++, plan->n++) {
		plan->event[plan->n].config = e[i].config;
		plan->event[plan->n].config1 = e[i].config1;
		plan->event[plan->n].total = total;
	}
}

/* Has each event counted between the two readings? */
static bool all_count(const struct perf_plan *plan, const struct perf_count *first,
		      const struct perf_count *now)
{
	for (unsigned i = 0; i < plan->n; i++)
		if (now[i].running <= first[i].running)
			return false;
	return now[0].value > first[0].value;
}

/*
 * Count this thread in the form of PLAN. Returns 1 if each event counts, 0 if another form may
 * count, and -1 if none can; WHY has the reason for 0 and -1.
 */
static int try_form(const struct perf_plan *plan, struct errbuf *why)
{
	struct perf_count first[EVENTS_MAX], now[EVENTS_MAX];
	int64_t end = perf_clock() + TRIAL_NS;
	struct perf_thread t;
	unsigned failed;
	int rc;

	if (open_thread(plan, 0, true, &t, &failed) < 0) {
		rc = errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSPC ? 0 : -1;
		open_error(plan, failed, why);
		return rc;
	}
	/*
	 * a group that is too large counts until its last event is added: so compare two readings
	 */
	rc = read_thread(plan, &t, first);
	while (rc == 0 &&
	       perf_clock() < end) { /* the kernel needs some ticks to count events in turn */
		for (volatile unsigned i = 0; i < 1000000; i++)
			;
		rc = read_thread(plan, &t, now);
		if (rc == 0 && all_count(plan, first, now))
			rc = 1;
	}
	if (rc < 0)
		errprintf(why, "cannot read counters: %s", strerror(errno));
	else if (rc == 0)
		errprintf(why, "the events can be opened, but do not count: other programs, or the"
			       " NMI watchdog, may hold the counters");
	close_thread(plan, &t);
	return rc;
}

static bool has_simulated_pmu(const char *root)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sys/bus/event_source/devices/simllc", root);
	return access(path, F_OK) == 0;
}

static void fill_plan(struct perf_plan *plan, const struct events_row *row, enum perf_form form)
{
	plan->form = form;
	plan->n = 0;
	add_events(plan, &row->instructions, 1, INSTRUCTIONS);
	add_events(plan, row->misses, row->n_misses, MISSES);
	if (form != FORM_PART)
		add_events(plan, row->remote, row->n_remote, REMOTE);
}

static int perf_open(struct counters *c, const struct counters_host *host, struct errbuf *why)
{
	struct perf_plan *plan = calloc(1, sizeof(*plan));
	int rc = 0;

	if (!plan)
		return errprintf(why, "out of memory");
	plan->type = host->type;
	plan->user_only = c->user_only;
	for (unsigned form = host->no_groups ? FORM_SINGLE : FORM_GROUP; form < FORMS && rc == 0;
	     form++) {
		fill_plan(plan, &c->row, (enum perf_form)form);
		rc = try_form(plan, why);
	}
	if (rc > 0 && call_limit_open(&plan->limit, why) < 0)
		rc = -1;
	if (rc <= 0) {
		free(plan);
		return errwrap(why, "row %s", c->row.name);
	}
	c->data = plan;
	c->has_remote = c->row.n_remote && plan->form != FORM_PART;
	c->simulated = has_simulated_pmu(host->root);
	return 0;
}

static void perf_close(struct counters *c)
{
	struct perf_plan *plan = c->data;

	call_limit_close(&plan->limit);
	free(plan);
}

const struct counters_provider counters_perf = {
	.name = "perf",
	.open = perf_open,
	.close = perf_close,
	.begin = perf_begin,
	.renew = perf_renew,
	.read = perf_read,
	.end = perf_end,
};
