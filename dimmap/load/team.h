/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_TEAM_H
#define NODEOS_DIMMAP_LOAD_TEAM_H

#include <stdbool.h>

#include "base/errbuf.h"

/* What getrusage() counts of threads, from where they begin their work to its end. */
struct counts {
	long majflt, minflt, voluntary, involuntary;
};

void counts_add(struct counts *to, const struct counts *more);

/*
 * Threads that begin together: all of them exist before the first one works, so that WORK may wait
 * for the others. WORK is called with ARG and a number from 0 on.
 */
typedef void team_work(void *arg, unsigned thread);
struct team;

/* PIN: thread i stays on the (FIRST + i)th of the CPUs that it may use, in turns. NULL with ERR:
 * nothing runs. */
struct team *team_start(unsigned threads, team_work *work, void *arg, bool pin, unsigned first,
			struct errbuf *err);
void team_go(struct team *t);
/* Wait for the end, free T, and put what they counted into SUM. */
void team_join(struct team *t, struct counts *sum);

/* All of it; 0, or -1 with ERR. */
int team_run(unsigned threads, team_work *work, void *arg, bool pin, struct counts *sum,
	     struct errbuf *err);

#endif
