/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_JOURNAL_H
#define NODEOS_MIGRATION_JOURNAL_H

#include "migration/rebind.h"

/*
 * A move of ranks to other cores that is under way: a file "moving" in the daemon's own directory,
 * which is written before the move and removed after it. When the daemon is killed between, the
 * next one makes the move again. Otherwise a rank could keep CPUs that neither the ledger nor its
 * user has chosen for it.
 */
#define JOURNAL_FILE "moving"

/* Write R to JOURNAL_FILE below DIR_FD. Returns 0, or -1 with the reason. */
int journal_write(int dir_fd, const struct rebind *r, struct errbuf *err);
void journal_remove(int dir_fd);

/*
 * Read it. Returns 1 with *OUT, whose AGAIN is set, for rebind_free(); 0: there is none; -1 with
 * the reason: it is not a regular file of the caller's own, or damaged.
 */
int journal_read(struct rebind *out, int dir_fd, struct errbuf *err);

#endif
