/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_MOVER_H
#define NODEOS_MIGRATION_MOVER_H

#include "contention/observed.h"
#include "host/conf.h"

/*
 * Places the ranks of a host, and lets their pages follow: one move of cores and one of pages at a
 * time, each in a process of its own. No function here waits for one. What was done, or why nothing
 * is, stands in the steps of the node (struct observed_placing).
 */
struct mover;

struct mover_host {
	int cgroup_fd; /* the cgroup root */
	int run_fd; /* the daemon's own directory, for the journal */
};

/* Descriptors stay the caller's, and open until mover_free(). NULL: out of memory. */
struct mover *mover_new(const struct mover_host *h);
void mover_free(struct mover *m); /* NULL does nothing */

/*
 * Behind each look at the host's ranks: decide which ranks move, and begin. What could not be read
 * is in BAD.
 */
void mover_look(struct mover *m, struct observed_node *node, const struct conf *conf,
		struct errbuf *bad);

/* At least once a second: take what has ended into NODE. A failure is in BAD. */
void mover_check(struct mover *m, struct observed_node *node, struct errbuf *bad);

#endif
