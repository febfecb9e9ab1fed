/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_METRICS_H
#define NODEOS_CONTEND_METRICS_H

#include <stddef.h>

#include "base/errbuf.h"
#include "contention/observed.h"

/*
 * Metrics for Prometheus, in a file for node_exporter's textfile collector. Ranks have the labels
 * of jobstats: jobid, step, task. A process that is no task of srun has an empty label "task", and
 * a label "pid". Unknown numbers are left out.
 *
 * The series of one rank have 2 KB, which the collector reads at each scrape. So only the first
 * METRICS_RANKS_MAX ranks of the node have series; nodeos_ranks_left_out gives the number of the
 * others.
 */
#define METRICS_FILE "nodeos_contention.prom"
#define METRICS_RANKS_MAX 2048u

/* Return the text, of *LEN bytes, which the caller frees; NULL when out of memory. */
char *metrics_text(size_t *len, const struct observed_node *node);

/*
 * Replace METRICS_FILE below DIR_FD, with mode 0644. Returns 0, or -1 with the reason and the old
 * file unchanged.
 */
int metrics_write(int dir_fd, const struct observed_node *node, struct errbuf *err);

#endif
