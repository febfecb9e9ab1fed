/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_TEAM_H
#define NODEOS_DIMMAP_LOAD_TEAM_H

#include <stdbool.h>

#include "base/errbuf.h"

/* Sums of getrusage() over threads, from the start of their work to its end. */
struct counts {
	long majflt, minflt, voluntary, involuntary;
};

typedef void team_work(void *arg, unsigned thread);

/*
 * Run WORK in THREADS threads. All threads exist before the first one works, so WORK may wait for
 * the others. WORK gets ARG and the thread's number, from 0 on. With PIN, thread i stays on the ith
 * CPU that the process may use; after the last CPU, the first is next. The threads' counts are
 * added to SUM. If a thread cannot be started, no thread works; returns -1 with ERR.
 */
int team_run(unsigned threads, team_work *work, void *arg, bool pin, struct counts *sum,
	     struct errbuf *err);

#endif
