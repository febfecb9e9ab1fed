/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_RANK_RUNS_H
#define NODEOS_CONTAINER_RANK_RUNS_H

#include "container/ledger.h"

/*
 * The placed ranks of a step as runs: tokens separated by one blank, in the order of the ranks.
 *
 *   0-63:sim:0-3     task_0 to task_63 in container sim, all on the CPUs 0-3
 *   64-127<64+4      task_64 to task_127, each in the place of the 64th rank before it, on that
 *                    rank's CPUs plus 4 (minus 4: "<64-4")
 *
 * So three or four tokens describe 4,096 ranks on a node with 64 cores, whether ranks are
 * distributed over cores in blocks, in turns, or by socket.
 */

/*
 * Return the text of the N ranks R, which the caller frees. NULL: out of memory, or a rank cannot
 * be written in this form: it has no CPUs, a directory other than "task_NUMBER", or a place that is
 * neither a container's name nor LEDGER_REST.
 */
char *rank_runs_format(const struct ledger_rank *r, unsigned n);

/*
 * Append the ranks in RUNS, an untrusted text, to the ranks of S. Returns 0, or -1 with the reason
 * if the text is damaged or has more than STEP_RANKS_MAX ranks; S then has the ranks before the bad
 * token.
 */
int rank_runs_parse(struct ledger_step *s, const char *runs, struct errbuf *err);

#endif
