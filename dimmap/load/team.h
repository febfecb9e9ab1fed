/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_TEAM_H
#define NODEOS_DIMMAP_LOAD_TEAM_H

#include <stdbool.h>

#include "base/errbuf.h"

/* Counts of getrusage() of threads, from the start of their work to its end. */
struct counts {
	long majflt, minflt, voluntary, involuntary;
};

typedef void team_work(void *arg, unsigned thread);

/*
 * Run WORK in THREADS threads. All threads exist before the first one works, so that WORK may wait
 * for the others. WORK is called with ARG and the thread's number, from 0 on. With PIN, thread i
 * stays on the ith CPU that the process may use, starting over after the last. The threads' counts
 * are added to SUM. Returns -1 with ERR if a thread could not be started; no thread has then
 * worked.
 */
int team_run(unsigned threads, team_work *work, void *arg, bool pin, struct counts *sum,
	     struct errbuf *err);

#endif
