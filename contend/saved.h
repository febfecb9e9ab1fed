/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_SAVED_H
#define NODEOS_CONTEND_SAVED_H

#include "contention/observed.h"

/*
 * What a restart of the daemon must not lose: each rank's class, its samples and totals, and the
 * highest rates of domains. One file of the daemon's own beside its documents, so that a boot
 * empties it.
 */
#define SAVED_FILE "state"
#define SAVED_RANKS_MAX 65536u

struct saved; /* ranks of an earlier life that are not back yet */

/* Write the state of NODE to SAVED_FILE below DIR_FD. Returns 0, or -1. */
int saved_write(int dir_fd, const struct observed_node *node, struct errbuf *err);

/*
 * Read it. Returns 0, with NULL in *OUT where there is no file; -1 with the reason, and NULL in
 * *OUT, where it is not ours, damaged or of another kind.
 */
int saved_read(struct saved **out, int dir_fd, struct errbuf *err);

/* The same of NODE itself, in place of a file, for a new configuration. NULL: out of memory. */
struct saved *saved_of(const struct observed_node *node);

/*
 * Give ranks of NODE that have just been found, by pid and start, what SAVED (NULL: nothing) has of
 * them; each once. Totals only where they count the same events, and of these classes and samples
 * only where the bounds are the same.
 */
void saved_give(struct saved *saved, struct observed_node *node);
void saved_free(struct saved *saved);

#endif
