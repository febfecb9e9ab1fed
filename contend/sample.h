/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_SAMPLE_H
#define NODEOS_CONTEND_SAMPLE_H

#include <stdbool.h>

#include "contend/counted.h"

/* What a pass over all ranks needs besides them. */
struct sample_pass {
	long now; /* monotonic milliseconds */
	double time; /* Unix time */
	/* milliseconds since a rank's last reading below which it is not read; 1 at least */
	unsigned least, least_quiet;
	int proc_fd; /* "/proc", or a test's directory */
	int cgroup_fd; /* root of cgroup v2 */
	unsigned lost; /* out: ranks whose counters have failed in this pass */
	unsigned gone; /* out: ranks that ran before this pass and are no processes any more */
	struct errbuf why; /* out: how the last one did */
};

/*
 * Read the counters of all ranks of NODE, for which T has passed counted_match(), and class them.
 * One call of the kernel a rank: its share of a CPU comes with its counters, as their time runs
 * only while the rank does. Ranks on quiet CPUs have another interval. A rank
 * that is stopped, or frozen with its cgroup, gets no sample: it has the class that it had.
 */
void sample_ranks(struct counted_table *t, struct observed_node *node, struct sample_pass *pass);

#endif
