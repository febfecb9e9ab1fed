/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LRIOT_WORKER_H
#define NODEOS_DIMMAP_LOAD_LRIOT_WORKER_H

#include "dimmap/load/latency.h"
#include "dimmap/load/lriot/backend.h"
#include "dimmap/load/lriot/epochs.h"
#include "dimmap/load/lriot/errors.h"
#include "dimmap/load/lriot/findings.h"
#include "dimmap/load/lriot/options.h"
#include "dimmap/load/trace.h"

/* What a thread has done, in memory that all processes share. */
struct work_done {
	uint64_t reads, writes, checked, syncs;
	uint64_t start, end; /* ns, CLOCK_MONOTONIC */
	struct latency latency;
};

/* What a thread works with; only this and the pages of BUFFER are its own. */
struct worker {
	const struct options *o;
	struct target *target; /* its process's */
	struct epochs *epochs; /* of --verify, else NULL */
	struct findings *found;
	struct errors *errors;
	struct trace *trace; /* or NULL */
	uint64_t *buffer; /* of O's block, aligned to a page */
	unsigned thread, number; /* in its process, and of all */
	struct work_done *done;
};

uint64_t worker_clock(void);
void worker_run(struct worker *w);

/* One access, for who checks beside them: read BLOCK and, with --verify, look at it. 0, or as
 * struct backend says. */
int worker_read(struct worker *w, uint64_t block, struct latency *timed);

#endif
