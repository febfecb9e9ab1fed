/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_COUNTED_H
#define NODEOS_CONTEND_COUNTED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "contention/observed.h"
#include "counters/counters.h"

/*
 * The counters of each observed rank, in the order of the node's steps and of their ranks. Call
 * counted_match() after each call that adds or removes ranks, as ranks move in their arrays.
 */
struct counted {
	pid_t pid;
	uint64_t start; /* see struct process_seen; PID and START identify the process */
	struct counter_group *group; /* NULL: this rank has no counters */
	bool tried; /* an attempt to give it counters has been made */
	/* if an attempt waited for the process: the time of the next attempt, in monotonic
	 * milliseconds, and the pause before it, in milliseconds */
	long again;
	unsigned pause;
	bool stopped; /* by SIGSTOP, as when Slurm suspends the job, or frozen with its cgroup */
	struct counter_reading before; /* the last reading */
	uint64_t remote_before; /* remote misses at the last reading */
	uint64_t interrupts_before; /* interrupts that earlier counters of this rank sent */
	long read_at; /* monotonic milliseconds of the last reading */
	/* READ_AT, enabled time and CPU time of the last check whether the counters still count */
	long judged;
	uint64_t judged_enabled, judged_ticks;
};

/* The counters of a process that is about to be a rank. slurmstepd waits only for these. */
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
	unsigned refused; /* ranks to which the last counted_match() could not give counters */
};

/*
 * Begin to count PID before it is known as a rank: the next counted_match() gives the counters to
 * the rank with that pid, or ends them if there is none. Returns 0, or -1 with the reason.
 */
int counted_begin_early(struct counted_table *t, pid_t pid, struct errbuf *err);

/*
 * Give each rank of NODE an entry, in their order; begin to count new ranks, and end the counters
 * of ranks that have ended. A call tries again only a few ranks for which an earlier call failed,
 * and stops trying after half a second; the next call goes on. An attempt waits while the process
 * is in execve(): then the rank is tried again after 10 s, and later more and more rarely, and all
 * ranks of a step together may make a call wait for a tenth of a second. Returns 0, or -1 with the
 * last reason why ranks have no counters (REFUSED has their number), or because memory is out: the
 * table then has no entries until the next call.
 */
int counted_match(struct counted_table *t, struct observed_node *node, struct errbuf *err);

/*
 * For each rank of NODE, after counted_match(): give counters to threads that have not inherited
 * any, and begin again for ranks that have lost their counters. The kernel removes the counters of
 * a process that executes a program which must not be dumped, such as a setuid program or one that
 * its user may not read.
 */
void counted_renew(struct counted_table *t, struct observed_node *node);

/* End all counters. The table is then empty. */
void counted_end(struct counted_table *t);

#endif
