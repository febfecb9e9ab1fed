/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_MOVER_H
#define NODEOS_MIGRATION_MOVER_H

#include "contention/observed.h"
#include "host/conf.h"

/*
 * Places the ranks of a host, and moves their pages to them: one move of cores and one of pages at
 * a time, each in a process of its own. No function here waits for such a process. The steps of the
 * node record what was done, or why nothing is (struct observed_placing).
 */
struct mover;

struct mover_host {
	int cgroup_fd; /* the cgroup root */
	int run_fd; /* the daemon's own directory, for the journal */
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
 * Call at least once a second: record moves that have ended in NODE, and failures in BAD. Returns
 * true if ranks have moved: call mover_decide() now, so that their pages follow at once.
 */
bool mover_check(struct mover *m, struct observed_node *node, struct errbuf *bad);

#endif
