/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "migration/page_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "contention/process.h"
#include "host/apart.h"

/* seconds in addition to the plan's: to look at the rank before and after, and for the last call */
#define LOOK_SECONDS 60

/* A rank that did not answer. */
struct page_mark {
	uint64_t step;
	char cgroup[CGROUP_PATH_MAX];
};

/* A worker that was killed. */
struct left_worker {
	struct apart_process process;
	uid_t silent; /* its user, if it was silent or late; otherwise 0 */
};

struct page_workers {
	long silent_ms;
	struct page_request request; /* request of the active worker, if there is one */
	/* memory shared with the active worker; NULL: none is active */
	struct pages_progress *progress;
	struct apart_process active;
	uint32_t beats; /* the last value seen of the active worker's beats */
	uint64_t cpu_ns; /* the last value seen of its CPU time, nanoseconds */
	long changed; /* when one of these last changed, monotonic milliseconds */
	unsigned n_left, n_marks;
	struct left_worker left[PAGE_WORKERS_ABANDONED]; /* killed workers that have not ended */
	struct page_mark *mark;
};

/* What the worker process returns. */
struct page_report {
	int rc;
	struct pages_result result;
	char why[256];
};

/* Input of the worker process. The process is forked, so the request is its own copy. */
struct page_work {
	const struct page_request *request;
	struct pages_progress *progress;
};

_Static_assert(sizeof(struct page_report) <= APART_RESULT_MAX, "a report fits into one message");

struct page_workers *page_workers_new(void)
{
	struct page_workers *w = calloc(1, sizeof(*w));

	if (w)
		w->silent_ms = 1000L * PAGE_WORKER_SILENT_S;
	return w;
}

void page_workers_set_silence(struct page_workers *w, unsigned ms)
{
	w->silent_ms = ms;
}

/* The kernel may keep a killed process alive, so this does not wait for its end. */
static void reap_workers(struct page_workers *w)
{
	for (unsigned i = w->n_left; i-- > 0;)
		if (apart_abandon(&w->left[i].process))
			w->left[i] = w->left[--w->n_left];
}

/* Abandon the active worker. SILENT: it made no progress, or took too long. */
static void leave_worker(struct page_workers *w, bool silent)
{
	munmap(w->progress, sizeof(*w->progress));
	w->progress = NULL;
	/* LEFT has a free entry: a worker starts only if LEFT is not full */
	if (!apart_abandon(&w->active))
		w->left[w->n_left++] =
			(struct left_worker){ w->active, silent ? w->request.uid : 0 };
}

void page_workers_free(struct page_workers *w)
{
	if (!w)
		return;
	if (w->progress)
		leave_worker(w, false);
	reap_workers(w);
	free(w->mark);
	free(w);
}

bool page_workers_silent(const struct page_workers *w, const char *cgroup)
{
	for (unsigned i = 0; i < w->n_marks; i++)
		if (strcmp(w->mark[i].cgroup, cgroup) == 0)
			return true;
	return false;
}

unsigned page_workers_abandoned(const struct page_workers *w)
{
	return w->n_left;
}

static void mark_silent(struct page_workers *w)
{
	struct page_mark *more = reallocarray(w->mark, w->n_marks + 1u, sizeof(*more));

	if (!more)
		/* without a mark, the rank may be tried again, and one more worker may be
		 * abandoned */
		return;
	w->mark = more;
	more[w->n_marks].step = w->request.step;
	memcpy(more[w->n_marks++].cgroup, w->request.cgroup, sizeof(more->cgroup));
}

void page_workers_forget(struct page_workers *w, uint64_t step)
{
	for (unsigned i = w->n_marks; i-- > 0;)
		if (w->mark[i].step == step)
			w->mark[i] = w->mark[--w->n_marks];
	if (w->progress && w->request.step == step)
		leave_worker(w, false);
}

/* ------------------------------------------------------------------ start */

/* Runs in the worker process, with the user's rights. */
static void move_apart(void *arg, void *result)
{
	const struct page_work *work = arg;
	const struct page_request *r = work->request;
	struct page_report *report = result;
	struct errbuf err = { 0 };

	report->rc = pages_move(&report->result, &r->plan, r->cgroup_fd, r->cgroup, work->progress,
				&err);
	snprintf(report->why, sizeof(report->why), "%.*s", (int)sizeof(report->why) - 1, err.text);
}

bool page_workers_held(const struct page_workers *w, uid_t uid)
{
	for (unsigned i = 0; i < w->n_left; i++)
		if (w->left[i].silent == uid)
			return true;
	return false;
}

static bool request_is_valid(const struct page_request *r)
{
	const struct pages_plan *plan = &r->plan;

	return r->uid && *r->cgroup && memchr(r->cgroup, '\0', sizeof(r->cgroup)) &&
	       idset_has(&plan->where.home, plan->to) &&
	       idset_subset(&plan->where.home, &plan->where.container);
}

static enum page_start launch_worker(struct page_workers *w, struct errbuf *err)
{
	struct page_request *r = &w->request;
	struct page_work work = { .request = r };
	struct apart a = { .work = move_apart,
			   .arg = &work,
			   .size = sizeof(struct page_report),
			   .seconds = r->plan.seconds + LOOK_SECONDS,
			   .keep_fd = r->cgroup_fd,
			   .cgroup = r->cgroup,
			   .as_user = true,
			   .ends_with_caller = true,
			   .uid = r->uid,
			   .gid = r->gid };

	work.progress = mmap(NULL, sizeof(*work.progress), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (work.progress == MAP_FAILED) {
		errprintf(err, "shared memory: %s", strerror(errno));
		return PAGE_FAILED;
	}
	if (apart_start(&w->active, &a, err) < 0) {
		munmap(work.progress, sizeof(*work.progress));
		return PAGE_FAILED;
	}
	w->progress = work.progress;
	w->beats = 0;
	w->cpu_ns = 0;
	w->changed = monotonic_ms();
	return PAGE_STARTED;
}

enum page_start page_worker_start(struct page_workers *w, const struct page_request *r,
				  struct errbuf *err)
{
	reap_workers(w);
	if (w->progress) {
		errprintf(err, "the pages of another rank are being moved");
		return PAGE_BUSY;
	}
	if (!request_is_valid(r)) {
		errprintf(err, "invalid request: it needs a user, a cgroup, and a target node in "
			       "the rank's home");
		return PAGE_FAILED;
	}
	if (page_workers_silent(w, r->cgroup)) {
		errprintf(err, "the address space of the rank did not respond earlier: its pages "
			       "are not moved");
		return PAGE_SILENT;
	}
	if (page_workers_held(w, r->uid)) {
		errprintf(err, "a worker for a rank of the same user has not ended");
		return PAGE_HELD;
	}
	if (w->n_left == PAGE_WORKERS_ABANDONED) {
		errprintf(err, "%d abandoned workers have not ended", PAGE_WORKERS_ABANDONED);
		return PAGE_HELD;
	}
	w->request = *r;
	return launch_worker(w, err);
}

/* ------------------------------------------------------------------ check */

/* CPU time of a process in nanoseconds; 0: it has ended. Waits for no address space. */
static uint64_t read_cpu_ns(pid_t pid)
{
	clockid_t clock;
	struct timespec t;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) < 0)
		return 0;
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * Has the active worker been without progress for too long? A worker that uses CPU time moves
 * pages: a call for many pages takes long on a busy machine. A worker that waits for an address
 * space uses none.
 */
static bool is_silent(struct page_workers *w)
{
	uint32_t beats = w->progress->beats;
	uint64_t cpu_ns = read_cpu_ns(w->active.pid);
	long now = monotonic_ms();

	if (beats != w->beats || cpu_ns != w->cpu_ns) {
		w->beats = beats;
		w->cpu_ns = cpu_ns;
		w->changed = now;
	}
	return now - w->changed >= w->silent_ms;
}

/* Is the worker suspended with its rank? Its silence then says nothing about the address space. */
static bool is_suspended(const struct page_workers *w)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool suspended = proc >= 0 &&
			 (process_is_stopped(proc, w->active.pid) ||
			  process_is_frozen(proc, w->request.cgroup_fd, w->active.pid));

	if (proc >= 0)
		close(proc);
	return suspended;
}

/* Give up a worker that is late or silent. Returns its final state. */
static enum page_state give_up_worker(struct page_workers *w, struct page_outcome *out,
				      struct errbuf *err)
{
	if (is_suspended(w)) {
		errprintf(err, "the worker was suspended while it moved pages");
		return PAGE_DIED;
	}
	out->silent = (pid_t)w->progress->pid;
	mark_silent(w);
	errprintf(err, "the address space did not respond in time: the rank's pages are not moved "
		       "until its step ends");
	if (out->silent)
		errwrap(err, "process %ld", (long)out->silent);
	return PAGE_ABANDONED;
}

static enum page_state judge_worker(struct page_workers *w, struct page_outcome *out,
				    struct errbuf *err)
{
	struct page_report report;

	switch (apart_check(&w->active, &report, err)) {
	case APART_AT_WORK:
		return is_silent(w) ? give_up_worker(w, out, err) : PAGE_AT_WORK;
	case APART_LATE:
		return give_up_worker(w, out, err);
	case APART_FAILED:
		return PAGE_DIED;
	case APART_DONE:
		break;
	}
	if (report.rc < 0) {
		report.why[sizeof(report.why) - 1] = '\0';
		errprintf(err, "%s", report.why);
		return PAGE_DIED;
	}
	out->result = report.result;
	return PAGE_DONE;
}

/* Write to OUT what the active worker has done until now. */
static void count_calls(struct page_outcome *out, const struct page_workers *w)
{
	out->calls = w->progress->calls;
	out->moved = w->progress->moved;
	out->drains = (uint64_t)out->calls * w->request.foreign_cpus;
}

static void name_outcome(struct page_outcome *out, const struct page_workers *w)
{
	*out = (struct page_outcome){ .step = w->request.step };
	memcpy(out->cgroup, w->request.cgroup, sizeof(out->cgroup));
}

enum page_state page_worker_check(struct page_workers *w, struct page_outcome *out,
				  struct errbuf *err)
{
	enum page_state state;

	reap_workers(w);
	if (!w->progress)
		return PAGE_NONE;
	name_outcome(out, w);
	state = judge_worker(w, out, err);
	count_calls(out, w);
	if (state != PAGE_AT_WORK)
		leave_worker(w, state == PAGE_ABANDONED);
	return state;
}

bool page_worker_stop(struct page_workers *w, struct page_outcome *out)
{
	if (!w->progress)
		return false;
	name_outcome(out, w);
	count_calls(out, w);
	leave_worker(w, false);
	return true;
}
