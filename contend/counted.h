/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_COUNTED_H
#define NODEOS_CONTEND_COUNTED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "contention/observed.h"
#include "counters/counters.h"

/*
 * The counters of each observed rank, in the order of the node's steps and of their ranks. Ranks
 * move in their arrays, so call counted_match() after each call that adds or removes ranks.
 */
struct counted {
	pid_t pid;
	uint64_t start; /* see struct process_seen; PID and START identify the process */
	struct counter_group *group; /* NULL: this rank has no counters */
	bool tried; /* an attempt to open counters was made */
	/*
	 * for a process that an attempt had to wait for: monotonic milliseconds of the next
	 * attempt, and the pause before it, in milliseconds
	 */
	long again;
	unsigned pause;
	/* by SIGSTOP, such as when Slurm suspends the job, or frozen with its cgroup */
	bool stopped;
	struct counter_reading before; /* the last reading */
	uint64_t remote_before; /* remote misses at the last reading */
	uint64_t interrupts_before; /* of this rank, by reads before GROUP was opened */
	long read_at; /* monotonic milliseconds of the last reading */
	/*
	 * values at the last check of whether the counters still work: READ_AT, enabled time, CPU
	 * time
	 */
	long judged;
	uint64_t judged_enabled, judged_ticks;
};

/* The counters of a process that will be a rank. slurmstepd waits only until these are open. */
struct counted_early {
	pid_t pid;
	struct counter_group *group;
	long begun; /* monotonic milliseconds */
};

struct counted_table {
	struct counters *counters; /* the caller's, open as long as the table */
	unsigned n;
	struct counted *rank; /* N elements, owned */
	unsigned n_early;
	struct counted_early *early; /* owned */
	/*
	 * milliseconds that early attempts have waited for processes since the last counted_match()
	 */
	long waited;
	unsigned turn; /* number of calls of counted_renew(): each begins with another rank */
	unsigned refused; /* ranks without counters after the last counted_match() */
};

/*
 * Open counters for PID before it is known as a rank: the next counted_match() gives them to the
 * rank with that pid, or closes them if there is none. When such attempts have waited for processes
 * for a tenth of a second in total, further ones are refused until then: a message may come so late
 * that its ranks already are their user's. Returns 0, or -1 with the reason.
 */
int counted_begin_early(struct counted_table *t, pid_t pid, struct errbuf *err);

/*
 * Give each rank of NODE an entry, in their order: open counters for new ranks, and close those of
 * ranks that have ended. A call tries again only a few ranks whose counters failed before, and
 * stops after half a second; the next call continues. An attempt waits while the process is in
 * execve(): that rank is tried again after 10 s, and then after longer and longer pauses, and all
 * ranks of a step together may make a call wait for a tenth of a second. Returns 0, or -1 with the
 * last reason why ranks have no counters (REFUSED has their number) or when out of memory: the
 * table then has no entries until the next call.
 */
int counted_match(struct counted_table *t, struct observed_node *node, struct errbuf *err);

/*
 * For each rank of NODE, after counted_match(): open counters for threads that have not inherited
 * any, and open new ones for ranks that have lost theirs. The kernel removes the counters of a
 * process that executes a program which must not be dumped, such as a setuid program or one that
 * its user may not read. A call stops after half a second, and after a tenth of a second for each
 * step; later calls continue with others.
 */
void counted_renew(struct counted_table *t, struct observed_node *node);

/* Close all counters. The table is then empty. */
void counted_end(struct counted_table *t);

#endif
