/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_RANK_SAMPLES_H
#define NODEOS_MIGRATION_RANK_SAMPLES_H

#include "base/errbuf.h"
#include "counters/events.h"
#include "migration/around.h"

/*
 * Samples the misses of one rank at a time, to choose those of its pages that follow it. No
 * function waits for more than the 50 ms of counters/sampling.h.
 */
struct rank_samples;

enum rank_samples_state { SAMPLES_NONE, SAMPLES_RUNNING, SAMPLES_DUE };

#define RANK_SAMPLES_MS 2000 /* how long a rank is sampled; its caller may look later */

struct rank_samples *rank_samples_new(int cgroup_fd); /* NULL: out of memory */
void rank_samples_free(struct rank_samples *s); /* NULL does nothing */

/*
 * Use the event of ROW (NULL: none) for PAGES around each miss (0: do not sample). Returns -1, once
 * for each new row, with the reason why this host cannot sample; otherwise 0.
 */
int rank_samples_configure(struct rank_samples *s, unsigned pages, const struct events_row *row,
			   struct errbuf *why);

/* Can the host sample, and does the configuration ask for samples? */
bool rank_samples_able(const struct rank_samples *s);

/* Begin to sample the threads in CGROUP. Returns 0, or -1 with the reason. */
int rank_samples_begin(struct rank_samples *s, const char *cgroup, struct errbuf *err);
enum rank_samples_state rank_samples_check(const struct rank_samples *s);

/*
 * End the sampling, and return the chosen ranges, which S owns until the next begin. NULL: no miss
 * was sampled.
 */
const struct around *rank_samples_end(struct rank_samples *s);

#endif
