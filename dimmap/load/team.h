/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_TEAM_H
#define NODEOS_DIMMAP_LOAD_TEAM_H

#include <stdbool.h>

#include "base/errbuf.h"

/* What getrusage() counts of threads, from where they begin their work to its end. */
struct counts {
	long majflt, minflt, voluntary, involuntary;
};

typedef void team_work(void *arg, unsigned thread);

/*
 * Let THREADS threads begin together: all of them exist before the first one works, so that WORK
 * may wait for the others. WORK is called with ARG and a number from 0 on. PIN: thread i stays on
 * the ith of the CPUs that it may use, in turns. What the threads counted is added to SUM. -1 with
 * ERR: not all could be started, and none has worked.
 */
int team_run(unsigned threads, team_work *work, void *arg, bool pin, struct counts *sum,
	     struct errbuf *err);

#endif
