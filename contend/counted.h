/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_COUNTED_H
#define NODEOS_CONTEND_COUNTED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "contention/observed.h"
#include "counters/counters.h"

/*
 * The counters of each rank that is observed, in the order in which ranks stand in the steps of a
 * node. Ranks move in their arrays, so counted_match() follows each call that adds or removes some.
 */
struct counted {
	pid_t pid;
	uint64_t start; /* with PID it names the process for ever */
	struct counter_group *group; /* NULL: nothing counts for this rank */
	bool tried; /* counters were asked for, and refused */
	/* the attempt waited for the process: when (monotonic milliseconds) it may be made again,
	 * and the pause before */
	long again;
	unsigned pause;
	bool stopped; /* by SIGSTOP, as by a suspension of Slurm, or frozen with its cgroup */
	struct counter_reading before; /* the last reading */
	uint64_t remote_before;
	uint64_t interrupts_before; /* of earlier lives of the daemon */
	long read_at; /* monotonic milliseconds of the last reading */
	/* when its counters were last found to count: READ_AT, and what was so then */
	long judged;
	uint64_t judged_enabled, judged_ticks;
};

/* Counters of a process that is to be a rank: slurmstepd waits for these, and for nothing else. */
struct counted_early {
	pid_t pid;
	struct counter_group *group;
	long begun; /* monotonic milliseconds */
};

struct counted_table {
	struct counters *counters; /* the caller's, open as long as the table */
	unsigned n;
	struct counted *rank; /* n of them, owned */
	unsigned n_early;
	struct counted_early *early; /* owned */
	unsigned refused; /* ranks without counters as the last match left them */
};

/*
 * Begin to count PID before it is known as a rank: the next counted_match() gives the counters to
 * the rank of that pid, or ends them. Returns 0, or -1 with the reason.
 */
int counted_begin_early(struct counted_table *t, pid_t pid, struct errbuf *err);

/*
 * Give each rank of NODE its entry, in their order; begin to count new ranks, and end the counters
 * of those that are gone. Of ranks that were refused, a few are tried again at each call, and those
 * that half a second does not suffice for at the next one: a process whose exec does not end lets
 * an attempt wait. So such a rank is tried again after 10 s, and then more and more rarely, and a
 * step may let a match wait for a tenth of a second. Returns 0, or -1 with the last reason why
 * ranks have no counters (REFUSED says how many) or out of memory: the table then has no entries
 * until the next call.
 */
int counted_match(struct counted_table *t, struct observed_node *node, struct errbuf *err);

/*
 * For the ranks of NODE, for which T has passed counted_match(): threads that began before the
 * counters of their process were inherited; and ranks whose counters have gone, which are counted
 * anew. The kernel takes them away when a process executes a program that it must not dump, as one
 * of setuid or without the right to read it.
 */
void counted_renew(struct counted_table *t, struct observed_node *node);

/* End all counters. The table is then empty. */
void counted_end(struct counted_table *t);

#endif
