/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_SAVED_H
#define NODEOS_CONTEND_SAVED_H

#include "contention/observed.h"

/*
 * The state that a restart of the daemon must not lose: class, samples and totals of each rank, and
 * the peaks of domains. Only the daemon's user can open the state's file. It is below /run, so a
 * boot removes it.
 */
#define SAVED_FILE "state"
#define SAVED_RANKS_MAX 65536u

struct saved; /* the state of an earlier daemon */

/* Write the state of NODE to SAVED_FILE below DIR_FD. Returns 0, or -1 with the reason. */
int saved_write(int dir_fd, const struct observed_node *node, struct errbuf *err);

/*
 * Read SAVED_FILE below DIR_FD. Returns 0 (*OUT is NULL if there is no such file), or -1 with the
 * reason and *OUT NULL if the file is damaged, is of another release, or is open to other users.
 */
int saved_read(struct saved **out, int dir_fd, struct errbuf *err);

/* Copy the state of NODE, for a new watch. Returns NULL when out of memory. */
struct saved *saved_of(const struct observed_node *node);

/*
 * Give each rank of NODE the state that SAVED (may be NULL) has for its pid and start time. Each
 * state is given once. Totals are given only if the same events were counted; class and samples
 * only if the bounds of the classes are the same as well.
 */
void saved_give(struct saved *saved, struct observed_node *node);
void saved_free(struct saved *saved);

#endif
