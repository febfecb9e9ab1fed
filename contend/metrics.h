/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_METRICS_H
#define NODEOS_CONTEND_METRICS_H

#include <stddef.h>

#include "base/errbuf.h"
#include "contention/observed.h"

/*
 * Metrics for Prometheus, in a file for node_exporter's textfile collector. Ranks have the labels
 * of jobstats: jobid, step, task. A process that is no task of srun has an empty label task, and a
 * label pid. A number that is not known is left out.
 *
 * The series of a rank are 2 KB, which the collector reads at each scrape: so the first
 * METRICS_RANKS_MAX ranks of the node have series, and nodeos_ranks_left_out counts the others.
 */
#define METRICS_FILE "nodeos_contention.prom"
#define METRICS_RANKS_MAX 2048u

/* Returns the text, of *LEN bytes, which the caller frees; NULL if out of memory. */
char *metrics_text(size_t *len, const struct observed_node *node);

/* Replace METRICS_FILE below DIR_FD, with mode 0644. Returns 0, or -1 with the reason; the old file
 * stays then. */
int metrics_write(int dir_fd, const struct observed_node *node, struct errbuf *err);

#endif
