/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_MOVER_PAGES_H
#define NODEOS_MIGRATION_MOVER_PAGES_H

#include "contention/observed.h"
#include "host/conf.h"
#include "migration/decide.h"

/*
 * Chooses the rank whose pages are moved next; only mover.c uses it. A pass over the ledger
 * considers all ranks that are placed, and keeps the rank that needs a move most: devils first,
 * then by bytes elsewhere.
 */
struct mover_pages;

struct mover_pages *mover_pages_new(int cgroup_fd); /* NULL: out of memory */
void mover_pages_free(struct mover_pages *p); /* NULL does nothing */

/* Begin a pass with the settings of CONF, and the events of ROW; NULL: none are counted. */
void mover_pages_begin(struct mover_pages *p, const struct conf *conf,
		       const struct events_row *row);

/* Record whether a container of this job on this host has quiet CPUs. */
void mover_pages_see(struct mover_pages *p, const struct ledger_job *job);

/* Consider the ranks of container C. */
void mover_pages_consider(struct mover_pages *p, const struct decide_input *in,
			  const struct planned_container *c);

/*
 * The rank TASK of step STEP (an inode) has moved to other cores: its pages are to follow at once.
 */
void mover_pages_want(struct mover_pages *p, uint64_t step, const char *task);

/* Record in NODE a move that has ended, and start the chosen move. BAD has the failure, if any. */
void mover_pages_check(struct mover_pages *p, struct observed_node *node, struct errbuf *bad);

#endif
