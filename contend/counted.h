/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_COUNTED_H
#define NODEOS_CONTEND_COUNTED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "contention/observed.h"
#include "counters/counters.h"

/*
 * The counters of an observed rank. A table has an entry for each rank, in the order of the node's
 * steps and of their ranks; call counted_match() whenever ranks were added or removed.
 */
struct counted {
	pid_t pid;
	/* start time, as in struct process_seen; PID and START identify the process */
	uint64_t start;
	struct counter_group *group; /* NULL: this rank has no counters */
	bool tried; /* an attempt to open counters was made */
	/*
	 * after an attempt that had to wait for the process: time of the next attempt (monotonic
	 * milliseconds), and the pause before it (milliseconds)
	 */
	long again;
	unsigned pause;
	/* stopped by SIGSTOP, such as when Slurm suspends the job, or frozen with its cgroup */
	bool stopped;
	struct counter_reading before; /* the last reading */
	uint64_t remote_before; /* remote misses at the last reading */
	uint64_t interrupts_before; /* interrupts of this rank counted before GROUP was opened */
	long read_at; /* monotonic milliseconds of the last reading */
	/*
	 * READ_AT, the enabled time and the CPU time when the counters were last found to work or
	 * not
	 */
	long judged;
	uint64_t judged_enabled, judged_ticks;
};

/* The counters of a process that will be a rank. slurmstepd waits until these counters are open. */
struct counted_early {
	pid_t pid;
	struct counter_group *group;
	long begun; /* monotonic milliseconds */
};

struct counted_table {
	/* owned by the caller, who keeps them open as long as the table */
	struct counters *counters;
	unsigned n;
	struct counted *rank; /* N elements, owned */
	unsigned n_early;
	struct counted_early *early; /* owned */
	/*
	 * milliseconds that counted_begin_early() has waited for processes since the last
	 * counted_match()
	 */
	long waited;
	/* number of calls of counted_renew(); each call begins with another rank */
	unsigned turn;
	unsigned refused; /* ranks without counters after the last counted_match() */
};

/*
 * Open counters for PID before it is known as a rank. The next counted_match() gives them to the
 * rank with that pid, or closes them if there is none. After these calls have waited for processes
 * for a tenth of a second in total, they fail until the next counted_match(): a message may come so
 * late that its ranks already run the user's program. Returns 0, or -1 with the reason.
 */
int counted_begin_early(struct counted_table *t, pid_t pid, struct errbuf *err);

/*
 * Give each rank of NODE an entry, in order. Open counters for new ranks, and close those of ranks
 * that have ended. A call retries only a few ranks whose counters failed before, and stops after
 * half a second; the next call continues. Opening counters waits while the process is in execve():
 * such a rank is retried after 10 s, and then after longer and longer pauses. The ranks of one step
 * may make a call wait for a tenth of a second in total. Returns 0, or -1 with the last reason why
 * ranks have no counters; REFUSED has the number of these ranks. When out of memory, also returns
 * -1, and the table has no entries until the next call.
 */
int counted_match(struct counted_table *t, struct observed_node *node, struct errbuf *err);

/*
 * After counted_match(), open counters for threads of ranks that have not inherited any, and new
 * counters for ranks that have lost theirs. The kernel removes the counters of a process that
 * executes a program which must not be dumped, such as a setuid program or one that its user may
 * not read. A call takes at most half a second, and a tenth of a second for each step; later calls
 * continue with other ranks.
 */
void counted_renew(struct counted_table *t, struct observed_node *node);

/* Close all counters. The table is then empty. */
void counted_end(struct counted_table *t);

#endif
