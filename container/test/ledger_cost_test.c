/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measure how much 100 steps of 4,096 ranks of one user cost another user's launch, which opens the
 * ledger (and so sweeps it) and reads every entry. The costs are the shortest time of many tries,
 * and the peak of the heap.
 */
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/test/tap.h"
#include "container/test/ledger_fixture.h"

#define STEPS 100u
#define RANKS 4096u
#define TRIES 60

/* Add a step whose directory is the job's, so that the step counts as live. */
static void add_step(struct ledger_job *job, unsigned id)
{
	struct ledger_step *s = ledger_job_add_step(job);

	s->inode = job->inode;
	s->step_id = id;
	s->ranks = RANKS;
	snprintf(s->cgroup, sizeof(s->cgroup), "%s", job->cgroup);
	if (ledger_step_set_places(s, "sim") < 0)
		abort();
	for (unsigned i = 0; i < RANKS; i++) {
		struct ledger_rank *r = ledger_step_add_rank(s);

		snprintf(r->task, sizeof(r->task), "task_%u", i);
		strcpy(r->place, "sim");
		/* ranks are distributed by socket, in turns, or in blocks */
		idset_add(&r->cpus, id % 3 == 0	  ? i % 128 / 2 + i % 2 * 64
				    : id % 3 == 1 ? i % 128
						  : i / 32);
	}
}

static int count_steps(const struct ledger_job *job, void *arg)
{
	*(unsigned *)arg += job->n_steps;
	return 0;
}

/* Read the ledger as one launch does. */
static void read_as_launch(unsigned *steps)
{
	struct errbuf err, bad = { 0 };
	struct ledger *l;

	*steps = 0;
	if (ledger_open(&l, state, root, 1, &err) < 0 ||
	    ledger_each(l, count_steps, steps, NULL, &bad, &err) < 0)
		abort();
	ledger_close(l);
}

struct cost {
	double ms;
	long kib;
	unsigned steps;
};

/* Measure in a child, so that the heap has only what the launch allocates. */
static struct cost measure_launch(void)
{
	struct cost c = { .ms = 1e9 };
	struct timespec a, b;
	int pipe_fd[2], status;
	pid_t pid;

	if (pipe(pipe_fd) < 0 || (pid = fork()) < 0)
		abort();
	if (pid == 0) {
		/* keep all memory of malloc() in one heap that never shrinks */
		mallopt(M_MMAP_MAX, 0);
		mallopt(M_TRIM_THRESHOLD, INT_MAX);
		for (int i = 0; i < TRIES; i++) {
			double ms;

			clock_gettime(CLOCK_MONOTONIC, &a);
			read_as_launch(&c.steps);
			clock_gettime(CLOCK_MONOTONIC, &b);
			ms = (double)(b.tv_sec - a.tv_sec) * 1e3 +
			     (double)(b.tv_nsec - a.tv_nsec) / 1e6;
			c.ms = ms < c.ms ? ms : c.ms;
		}
		c.kib = (long)(mallinfo2().arena >> 10);
		_exit(write(pipe_fd[1], &c, sizeof(c)) != sizeof(c));
	}
	if (read(pipe_fd[0], &c, sizeof(c)) != sizeof(c) || waitpid(pid, &status, 0) < 0)
		abort();
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	return c;
}

/* Fill the ledger in a child, so that the memory needed for this is not measured. */
static void fill_ledger(unsigned jobs)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0) {
		struct errbuf err;
		struct ledger *l;
		int rc = ledger_open(&l, state, root, 1, &err);

		for (unsigned k = 0; rc == 0 && k < jobs; k++) {
			struct ledger_job *job;
			char dir[32];

			snprintf(dir, sizeof(dir), "job_%u", k);
			job = job_in(dir, 7, 1000);
			for (unsigned i = 0; i < STEPS / jobs; i++)
				add_step(job, i);
			rc = ledger_write(l, job, &err);
			ledger_job_free(job);
		}
		if (rc < 0)
			diag("%s", err.text);
		_exit(rc < 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
		abort();
}

/* Return the size of all entries. */
static long ledger_bytes(void)
{
	char path[200];
	FILE *f;
	long n = 0;

	snprintf(path, sizeof(path), "cat %s/job-* | wc -c", state);
	f = popen(path, "r");
	if (!f || fscanf(f, "%ld", &n) != 1)
		abort();
	pclose(f);
	return n;
}

int main(void)
{
	struct cost none, some;
	char path[256];

	ledger_fixture();
	for (unsigned jobs = 1; jobs <= 4; jobs *= 4) {
		none = measure_launch();
		fill_ledger(jobs);
		some = measure_launch();
		is_int((int)some.steps, (int)STEPS,
		       "a launch reads %u steps of %u ranks in %u job%s", STEPS, RANKS, jobs,
		       jobs == 1 ? "" : "s");
		diag("%ld bytes of entries; a launch costs %.3f ms, %ld KiB; without entries %.3f "
		     "ms, %ld KiB",
		     ledger_bytes(), some.ms, some.kib, none.ms, none.kib);
#ifdef __SANITIZE_ADDRESS__
		skip(2, "a sanitizer would add its own cost");
#else
		ok(some.ms - none.ms < 1,
		   "100 large steps of another user cost a launch less than 1 ms");
		ok(some.kib - none.kib < 1024,
		   "100 large steps of another user cost a launch less than 1 MiB of heap");
#endif
		snprintf(path, sizeof(path), "rm -rf %s", state);
		if (system(path) != 0)
			abort();
	}
	close(root);
	return tap_done();
}
