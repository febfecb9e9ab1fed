/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/lriot/run.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dimmap/load/lriot/guard.h"
#include "dimmap/load/lriot/sweep.h"
#include "dimmap/load/lriot/worker.h"

/* What the processes share. */
struct shared {
	struct findings found;
	struct errors errors;
	struct disturbed disturbed;
	struct {
		struct counts counts;
		struct errbuf err; /* why it has exited with 1 */
	} process[THREADS_MAX];
	struct work_done done[]; /* of each thread of all */
};

/* --------------------------------------------------------------------- one process */

struct crew {
	const struct options *o;
	unsigned number;
	struct shared *shared;
	struct target target;
	struct trace *trace;
	struct worker *worker; /* of each thread, and one for forked children */
	char *buffers;
	struct work_done *children; /* which nobody adds up */
};

static void run_work(void *arg, unsigned thread)
{
	struct crew *c = arg;

	worker_run(&c->worker[thread]);
}

static int crew_make(struct crew *c, struct epochs *epochs, struct errbuf *err)
{
	const struct options *o = c->o;
	unsigned threads = (unsigned)o->threads;
	size_t each = (size_t)(o->block < 4096 ? 4096 : o->block);

	each = (each + 4095) / 4096 * 4096;
	c->worker = calloc(threads + 1, sizeof(c->worker[0]));
	c->children = calloc(1, sizeof(*c->children));
	c->buffers = aligned_alloc(4096, each * (threads + 1));
	if (!c->worker || !c->children || !c->buffers)
		return errprintf(err, "out of memory for %u threads", threads);
	memset(c->buffers, 0, each * (threads + 1));
	if (target_open(&c->target, o->backend, o->file, o->size, options_writes(o) || o->protect,
			err) < 0)
		return -1;
	c->target.disturbed = o->protect || o->remap;
	if (o->trace) {
		c->trace = trace_create(o->trace, (o->size + TRACE_PAGE - 1) / TRACE_PAGE, threads,
					false, err);
		if (!c->trace)
			return errwrap(err, "--trace");
	}
	for (unsigned i = 0; i <= threads; i++)
		c->worker[i] = (struct worker){
			.o = o,
			.target = &c->target,
			.epochs = epochs,
			.found = &c->shared->found,
			.errors = &c->shared->errors,
			.trace = c->trace,
			.buffer = (uint64_t *)(void *)(c->buffers + each * i),
			.thread = i,
			.number = c->number * threads + i,
			.done = i < threads ? &c->shared->done[c->number * threads + i]
					    : c->children,
		};
	return 0;
}

/* Say that we are ready, and wait until all are: until nobody has the other end of GO. -1: somebody
 * is not, end. */
static int wait_for_all(int ready, int go)
{
	char c = 0;
	ssize_t n;

	if (write(ready, &c, 1) != 1)
		return -1;
	do
		n = read(go, &c, 1);
	while (n < 0 && errno == EINTR);
	return n == 0 ? 0 : -1;
}

static int crew_run(struct crew *c, struct epochs *epochs, int ready, int go, struct errbuf *err)
{
	const struct options *o = c->o;
	struct disturber *d = NULL;
	struct team *team;

	if (crew_make(c, epochs, err) < 0)
		return -1;
	team = team_start((unsigned)o->threads, run_work, c, o->pin,
			  c->number * (unsigned)o->threads, err);
	if (!team)
		return -1;
	if (wait_for_all(ready, go) < 0)
		_exit(0); /* somebody else's trouble, which he tells */
	if (options_disturbs(o) &&
	    !(d = disturb_start(&c->worker[o->threads], &c->shared->disturbed, err)))
		return -1;
	team_go(team);
	team_join(team, &c->shared->process[c->number].counts);
	if (d)
		disturb_end(d);
	if (options_writes(o))
		errors_add(&c->shared->errors, o->backend->sync(&c->target));
	target_close(&c->target);
	return trace_close(c->trace, err);
}

/* Who kills the parent must not leave threads behind that write. */
static void __attribute__((noreturn))
be_process(struct crew *c, struct epochs *epochs, int ready, int go)
{
	struct errbuf *err = &c->shared->process[c->number].err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	guard_install();
	_exit(crew_run(c, epochs, ready, go, err) < 0);
}

/* --------------------------------------------------------------------- all of them */

struct processes {
	unsigned n;
	pid_t pid[THREADS_MAX];
	int ready[THREADS_MAX];
	int go;
};

static void run_kill_all(struct processes *p)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->pid[i] > 0)
			kill(p->pid[i], SIGKILL);
}

static int start_one(struct processes *p, const struct options *o, struct epochs *epochs,
		     struct shared *shared, int go[2], struct errbuf *err)
{
	struct crew crew = { .o = o, .number = p->n, .shared = shared };
	int ready[2];
	pid_t pid;

	if (pipe(ready) < 0)
		return errprintf(err, "pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		be_process(&crew, epochs, ready[1], go[0]);
	}
	close(ready[1]);
	if (pid < 0) {
		close(ready[0]);
		return errprintf(err, "cannot start process %u: %s", p->n, strerror(errno));
	}
	p->pid[p->n] = pid;
	p->ready[p->n++] = ready[0];
	return 0;
}

/* 0: all say that they are ready. One that has died says nothing. */
static int all_ready(const struct processes *p)
{
	char c;

	for (unsigned i = 0; i < p->n; i++)
		if (read(p->ready[i], &c, 1) != 1)
			return -1;
	return 0;
}

/* What became of each; the first trouble goes to ERR. One that dies might have had a block that
 * others wait for. */
static int wait_for_end(struct processes *p, const struct shared *shared, struct errbuf *err)
{
	int result = 0, status;

	for (unsigned left = p->n; left; left--) {
		pid_t pid = waitpid(-1, &status, 0);
		unsigned i = 0;

		while (i < p->n && p->pid[i] != pid)
			i++;
		if (i == p->n) {
			left++; /* nobody of ours */
			continue;
		}
		p->pid[i] = 0;
		if (!status || result < 0)
			continue;
		if (WIFSIGNALED(status))
			result = errprintf(err, "process %u died of signal %d (%s)", i,
					   WTERMSIG(status), strsignal(WTERMSIG(status)));
		else
			result = errprintf(err, "%s",
					   shared->process[i].err.text[0]
						   ? shared->process[i].err.text
						   : "a process ended early");
		run_kill_all(p);
	}
	return result;
}

static int run_processes(const struct options *o, struct epochs *epochs, struct shared *shared,
			 struct errbuf *err)
{
	struct processes *p = calloc(1, sizeof(*p));
	int go[2], result = 0, trouble;
	struct errbuf why;

	if (!p || pipe(go) < 0) {
		free(p);
		return errprintf(err, "%s", strerror(errno));
	}
	while (p->n < o->processes && result == 0)
		result = start_one(p, o, epochs, shared, go, err);
	if (result < 0 || all_ready(p) < 0)
		/* not to be taken for the start: one byte for each. Our own end to read keeps
		 * SIGPIPE away */
		for (unsigned i = 0; i < p->n; i++)
			if (write(go[1], "", 1) < 0)
				break;
	close(go[1]);
	close(go[0]);
	trouble = wait_for_end(p, shared, &why);
	if (trouble < 0 && result == 0)
		result = errprintf(err, "%s", why.text);
	for (unsigned i = 0; i < p->n; i++)
		close(p->ready[i]);
	free(p);
	return result;
}

/* ------------------------------------------------------------------- what came of it */

static void add_up(const struct options *o, const struct shared *shared, struct outcome *out)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (unsigned i = 0; i < o->processes * o->threads; i++) {
		const struct work_done *d = &shared->done[i];

		out->reads += d->reads;
		out->writes += d->writes;
		out->checked += d->checked;
		out->syncs += d->syncs;
		latency_add(&out->latency, &d->latency);
		start = d->start < start ? d->start : start;
		end = d->end > end ? d->end : end;
	}
	for (unsigned i = 0; i < o->processes; i++)
		counts_add(&out->counts, &shared->process[i].counts);
	out->seconds = (double)(end - start) / 1e9;
}

static int sweeps_and_run(const struct options *o, struct epochs *epochs, struct shared *shared,
			  struct outcome *out, struct errbuf *err)
{
	const struct sweep_sum before = { &shared->found, &shared->errors, &out->blocks_before };
	const struct sweep_sum after = { &shared->found, &shared->errors, &out->blocks_after };
	bool learns = o->verify && !o->create;

	guard_install();
	if (learns && file_sweep(o, SWEEP_LEARN, epochs, &before, err) < 0)
		return -1;
	if (atomic_load(&shared->found.n))
		return 0;
	out->ran = true;
	if (run_processes(o, o->verify ? epochs : NULL, shared, err) < 0)
		return -1;
	add_up(o, shared, out);
	return o->verify ? file_sweep(o, SWEEP_CHECK, epochs, &after, err) : 0;
}

int lriot_run(struct options *o, struct outcome *out, struct errbuf *err)
{
	size_t size = sizeof(struct shared) + o->processes * o->threads * sizeof(struct work_done);
	struct epochs epochs = { 0 };
	struct shared *shared;
	int result;

	memset(out, 0, sizeof(*out));
	if (file_prepare(o, err) < 0 ||
	    (o->verify && epochs_make(&epochs, o->size / o->block, err) < 0))
		return -1;
	shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		epochs_drop(&epochs);
		return errprintf(err, "out of memory: %s", strerror(errno));
	}
	result = sweeps_and_run(o, &epochs, shared, out, err);
	out->disturbed = shared->disturbed;
	out->errors = shared->errors;
	out->found = shared->found;
	munmap(shared, size);
	epochs_drop(&epochs);
	return result;
}
