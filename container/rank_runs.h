/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_RANK_RUNS_H
#define NODEOS_CONTAINER_RANK_RUNS_H

#include "container/ledger.h"

/*
 * The placed ranks of a step as runs: tokens with one blank between them, in the order of the
 * ranks.
 *
 *   0-63:sim:0-3     task_0 to task_63 in container sim, all on the CPUs 0-3
 *   64-127<64+4      the next ranks, each in the place of the rank 64 before it, and on its CPUs
 *                    with 4 added to their numbers (or subtracted: -4)
 *
 * So three or four tokens describe 4,096 ranks on a node with 64 cores, whether they are dealt to
 * cores in blocks, in turns, or by socket.
 */

/*
 * The text of N ranks R, for the caller to free. NULL: out of memory, or the ranks have no such
 * form: one has no CPUs, a directory other than "task_NUMBER", or a place that is no container's
 * name.
 */
char *rank_runs_format(const struct ledger_rank *r, unsigned n);

/*
 * Append the ranks of RUNS to those of S; trusts nothing. -1 with the reason: the text is damaged,
 * or has more than STEP_RANKS_MAX ranks; S then has the ranks before the bad token.
 */
int rank_runs_parse(struct ledger_step *s, const char *runs, struct errbuf *err);

#endif
