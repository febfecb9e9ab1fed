/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of ranks that hang in execve(). The events are software events. */
#include "contend/counted.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/test/held.h"
#include "counters/test/soft.h"

static struct observed_node node;
static struct counted_table table;
static pid_t idle; /* a rank that does not hang and has no child that hangs */

static void add_rank(struct observed_step *step, pid_t pid)
{
	struct observed_rank *rank = observed_add_rank(step);

	rank->pid = pid;
	rank->start = (uint64_t)pid;
}

static long match_ranks(struct errbuf *err)
{
	long begun = monotonic_ms();

	errclear(err);
	counted_match(&table, &node, err);
	return monotonic_ms() - begun;
}

#define MANY 6 /* ranks of a step */

/* A message comes so late that all ranks of its step hang. */
static void match_many(pid_t pid)
{
	struct errbuf err = { 0 };

	for (int i = 0; i < MANY; i++)
		counted_begin_early(&table, pid, &err);
	ok(strstr(err.text, "takes too long") != NULL,
	   "counted_begin_early: does not wait for each rank of a step that hangs");
	diag("%s", err.text);
	counted_match(&table, &node, NULL);
	is_int(counted_begin_early(&table, idle, &err), 0,
	       "counted_begin_early: opens counters for a later message");
	counted_match(&table, &node, NULL);
}

/* All ranks of a step lose their counters and then hang. */
static void renew_many(pid_t pid)
{
	struct observed_step *step = observed_add_step(&node);
	unsigned first = table.n, left = 0;

	for (int i = 0; i < MANY; i++) {
		add_rank(step, idle);
		step->rank[i].start += 1000u + (unsigned)i;
	}
	counted_match(&table, &node, NULL);
	for (unsigned i = 0; i < MANY; i++) {
		struct counted *c = &table.rank[first + i];

		c->pid = pid;
		c->judged = c->read_at - 1;
		c->judged_enabled = c->before.enabled;
		step->rank[i].ticks = c->judged_ticks + 100;
	}
	counted_renew(&table, &node);
	for (unsigned i = 0; i < MANY; i++)
		left += table.rank[first + i].group != NULL;
	ok(left >= MANY - 3, "counted_renew: does not wait for each rank of a step that hangs");
	diag("%u of %u ranks are left to later calls", left, MANY);
	for (int i = 0; i < MANY; i++)
		counted_renew(&table, &node);
	left = 0;
	for (unsigned i = 0; i < MANY; i++)
		left += table.rank[first + i].group != NULL;
	is_int(left, 0, "counted_renew: later calls try each rank of the step");
}

int main(int argc, char **argv)
{
	struct errbuf err = { 0 };
	char program[HELD_PATH_MAX];
	struct held held;
	const char *why;
	long took;

	(void)argc;
	scratch_make();
	idle = fork();
	if (idle == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	table.counters = open_soft(SOFT_ROW, false);
	node.bounds = classify_default;
	held_program(program, argv[0]);
	why = held_begin(&held, program);
	if (why)
		skip_all("%s", why);
	add_rank(observed_add_step(&node), held.pid);
	add_rank(observed_add_step(&node), idle);
	took = match_ranks(&err);
	ok(took < 2000, "counted_match: gives up on a rank that hangs in execve");
	diag("after %ld ms: %s", took, err.text);
	ok(!table.rank[0].group && table.rank[1].group && table.refused == 1,
	   "counted_match: opens counters for the next rank");
	ok(strstr(err.text, "execve() of the process takes longer") != NULL,
	   "counted_match: the reason names execve");
	took = match_ranks(&err);
	is_int((long long)table.rank[0].pause, 10000,
	       "counted_match: sets the pause before the next attempt");
	ok(table.refused == 1 && !*err.text && took < 40,
	   "counted_match: does not retry a rank that hangs before the pause has passed");
	diag("after %ld ms", took);
	table.rank[0].again = 0;
	match_ranks(&err);
	is_int((long long)table.rank[0].pause, 20000, "counted_match: doubles the next pause");
	match_many(held.pid);
	renew_many(held.pid);
	kill(idle, SIGKILL);
	held_end(&held);
	for (int i = 0; i < 50 && kill(held.pid, 0) == 0; i++)
		usleep(100000);
	counted_end(&table);
	counters_close(table.counters);
	observed_free(&node);
	return tap_done();
}
