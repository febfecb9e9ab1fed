/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of ranks.c: count from the kernel's trace events how often the threads of an unmodified
 * program are migrated and switched. Prints a line for each thread, in the format of cg.c.
 */
#ifndef NODEOS_BENCH_THREADS_H
#define NODEOS_BENCH_THREADS_H

#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "bench/lib/guest.h"

#define TRACE "/sys/kernel/tracing/"
#define THREADS_MAX 256

struct thread {
	int pid, first, last;
	long moves, involuntary, voluntary;
};

/* Start to trace the programs with the name NAME. */
static void watch_threads(const char *name)
{
	char filter[64];
	int trace;

	if (access(TRACE "trace", F_OK) < 0 && mount("tracefs", TRACE, "tracefs", 0, NULL) < 0)
		die("tracefs");
	guest_put(TRACE "tracing_on", "0");
	snprintf(filter, sizeof(filter), "prev_comm == \"%s\"", name);
	guest_put(TRACE "events/sched/sched_switch/filter", filter);
	snprintf(filter, sizeof(filter), "comm == \"%s\"", name);
	guest_put(TRACE "events/sched/sched_migrate_task/filter", filter);
	guest_put(TRACE "events/sched/sched_switch/enable", "1");
	guest_put(TRACE "events/sched/sched_migrate_task/enable", "1");
	guest_put(TRACE "buffer_size_kb", "8192");
	/* only an open() with O_TRUNC empties this file; truncate() does not */
	trace = open(TRACE "trace", O_WRONLY | O_TRUNC);
	if (trace < 0 || close(trace) < 0)
		die(TRACE "trace");
	guest_put(TRACE "tracing_on", "1");
}

static struct thread *thread_of(struct thread *all, int *n, int pid, int cpu)
{
	for (int i = 0; i < *n; i++)
		if (all[i].pid == pid)
			return &all[i];
	if (*n == THREADS_MAX)
		die("too many threads");
	all[*n] = (struct thread){ .pid = pid, .first = cpu, .last = cpu };
	return &all[(*n)++];
}

/*
 * Count the event in a line of the trace, such as "gmx-70 [003] d..2. 1.5: sched_switch:
 * prev_comm=gmx prev_pid=70 prev_prio=120 prev_state=R+ ==> ...".
 */
static void count_event(const char *line, struct thread *all, int *n)
{
	const char *at = strchr(line, '['), *event;
	int cpu = at ? atoi(at + 1) : 0, pid, from, to;
	struct thread *t;
	char state[8];

	if ((event = strstr(line, " sched_switch: ")) && (at = strstr(event, " prev_pid="))) {
		if (sscanf(at, " prev_pid=%d prev_prio=%*d prev_state=%7s", &pid, state) != 2)
			die(line);
		t = thread_of(all, n, pid, cpu);
		/* "R+": the thread was preempted; any other state: it has yielded or waits */
		if (strcmp(state, "R+") == 0)
			t->involuntary++;
		else
			t->voluntary++;
		t->last = cpu;
	} else if ((event = strstr(line, " sched_migrate_task: ")) &&
		   (at = strstr(event, " pid="))) {
		if (sscanf(at, " pid=%d prio=%*d orig_cpu=%d dest_cpu=%d", &pid, &from, &to) != 3)
			die(line);
		thread_of(all, n, pid, to)->moves += from != to;
	}
}

/* Print a line for each thread that was switched or moved. RESULT is the program's result. */
static void tell_threads(const char *result)
{
	static struct thread all[THREADS_MAX];
	long kept, written;
	char line[1024];
	int n = 0;
	FILE *f;

	guest_put(TRACE "tracing_on", "0");
	f = fopen(TRACE "trace", "r");
	if (!f)
		die("trace");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "# entries-in-buffer/entries-written: %ld/%ld", &kept, &written) ==
			    2 &&
		    kept != written)
			die("the trace lost events: its buffer is too small for this run");
		if (line[0] != '#')
			count_event(line, all, &n);
	}
	fclose(f);
	for (int i = 0; i < n; i++)
		printf("rank %d cpu %d %d moves %ld involuntary %ld voluntary %ld residual %s\n", i,
		       all[i].first, all[i].last, all[i].moves, all[i].involuntary,
		       all[i].voluntary, result);
}

#endif
