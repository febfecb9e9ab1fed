/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_SAMPLE_H
#define NODEOS_CONTEND_SAMPLE_H

#include <stdbool.h>

#include "contend/counted.h"

/* The parameters and results of one pass over all ranks. */
struct sample_pass {
	long now; /* monotonic milliseconds */
	double time; /* Unix time */
	/*
	 * least milliseconds between two readings of a rank (LEAST) and of a quiet rank
	 * (LEAST_QUIET)
	 */
	unsigned least, least_quiet; /* at least 1 */
	int proc_fd; /* "/proc", or a directory of a test */
	int cgroup_fd; /* root of cgroup v2 */
	unsigned lost; /* result: number of ranks whose counters failed in this pass */
	unsigned gone; /* result: number of ranks whose process was found to have ended */
	struct errbuf why; /* result: reason why counters failed, of the last such rank */
};

/*
 * Read the counters of the ranks of NODE from T (see counted_match()), and class the ranks.
 * Counters also give a rank's CPU time: they run only while the rank does. A rank that is stopped,
 * or frozen with its cgroup, gets no sample, so it keeps its class.
 */
void sample_ranks(struct counted_table *t, struct observed_node *node, struct sample_pass *pass);

#endif
