/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_SAVED_H
#define NODEOS_CONTEND_SAVED_H

#include "contention/observed.h"

/*
 * The state that a restart of the daemon must not lose: class, samples and totals of each rank, and
 * the peaks of domains. Only the daemon's user can open its file, which is below /run, so that it
 * does not outlive a boot.
 */
#define SAVED_FILE "state"
#define SAVED_RANKS_MAX 65536u

struct saved; /* the state of an earlier daemon */

/* Write the state of NODE to SAVED_FILE below DIR_FD. Returns 0, or -1 with the reason. */
int saved_write(int dir_fd, const struct observed_node *node, struct errbuf *err);

/*
 * Read SAVED_FILE below DIR_FD. Returns 0, with *OUT NULL if there is no such file; or -1 with the
 * reason and *OUT NULL if the file is damaged, of another release, or open to other users.
 */
int saved_read(struct saved **out, int dir_fd, struct errbuf *err);

/* Copy the state of NODE, for a new watch. Returns NULL when out of memory. */
struct saved *saved_of(const struct observed_node *node);

/*
 * Give each rank of NODE the state in SAVED (may be NULL) of the process with its pid and start
 * time; each state is given once. Totals are given only if the same events were counted, and class
 * and samples only if the bounds of the classes are the same as well.
 */
void saved_give(struct saved *saved, struct observed_node *node);
void saved_free(struct saved *saved);

#endif
