/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_SAMPLE_H
#define NODEOS_CONTEND_SAMPLE_H

#include <stdbool.h>

#include "contend/counted.h"

/* One pass over all ranks: what it needs besides them, and its results. */
struct sample_pass {
	long now; /* monotonic milliseconds */
	double time; /* Unix time */
	/* a rank, or a quiet one, is read only if its last reading is so many milliseconds ago */
	unsigned least, least_quiet; /* 1 at least */
	int proc_fd; /* "/proc", or a test's directory */
	int cgroup_fd; /* root of cgroup v2 */
	unsigned lost; /* result: ranks whose counters failed in this pass */
	unsigned gone; /* result: ranks whose process was found to have ended */
	struct errbuf why; /* result: why the last of the lost counters failed */
};

/*
 * Read the counters of the ranks of NODE, for which T has passed counted_match(), and class the
 * ranks. This is one system call for each rank: its CPU time comes with its counters, which run
 * only while the rank does. A rank that is stopped, or frozen with its cgroup, gets no sample, so
 * it keeps its class.
 */
void sample_ranks(struct counted_table *t, struct observed_node *node, struct sample_pass *pass);

#endif
