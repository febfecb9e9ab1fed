/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_MOVER_H
#define NODEOS_MIGRATION_MOVER_H

#include "contention/observed.h"
#include "counters/counters.h"
#include "host/conf.h"

/*
 * Places the ranks of a host, and moves their pages to them: one move of cores and one of pages at
 * a time, each in a process of its own. Only mover_finish() waits for a move. The steps of the node
 * record what was done, or why nothing was (struct observed_placing).
 */
struct mover;

struct mover_host {
	int cgroup_fd; /* the cgroup root */
	int run_fd; /* the daemon's own directory, for the journal */
	/* the counters of the host, which may change; its row says how misses are sampled */
	const struct counters_about *about;
};

/* The caller owns the descriptors, which stay open until mover_free(). NULL: out of memory. */
struct mover *mover_new(const struct mover_host *h);
void mover_free(struct mover *m); /* NULL does nothing */

/*
 * Call after each observation of the host's ranks: decide which ranks move, and start the move. BAD
 * names what could not be read.
 */
void mover_decide(struct mover *m, struct observed_node *node, const struct conf *conf,
		  struct errbuf *bad);

/*
 * Call at least once a second: record in NODE the moves that have ended, and in BAD failures.
 * Returns true if ranks have moved: call mover_decide() now, so that their pages follow at once.
 */
bool mover_check(struct mover *m, struct observed_node *node, struct errbuf *bad);

/*
 * At the daemon's end, wait for the move of cores that is under way, up to its time limit
 * (rebind_seconds()). Perhaps no later daemon completes the move, and until then ranks have the
 * CPUs of both places. NULL does nothing.
 */
void mover_finish(struct mover *m, struct observed_node *node);

#endif
