/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_JOURNAL_H
#define NODEOS_MIGRATION_JOURNAL_H

#include "migration/rebind.h"

/*
 * The journal is a file "moving" in the daemon's own directory. It has the move of ranks to other
 * cores that is under way: it is written before the move and removed after it. If the daemon is
 * killed in between, the next daemon repeats the move. Otherwise a rank could keep CPUs that
 * neither the ledger nor its user has chosen for it.
 */
#define JOURNAL_FILE "moving"

/* Write R to JOURNAL_FILE below DIR_FD. Returns 0, or -1 with the reason. */
int journal_write(int dir_fd, const struct rebind *r, struct errbuf *err);
void journal_remove(int dir_fd);

/*
 * Read JOURNAL_FILE. Returns 1 and fills *OUT, with AGAIN set, for rebind_free(); 0: there is no
 * journal; -1 with the reason. With -1, errno is EBADMSG if the file is damaged, or not a regular
 * file of the caller alone; otherwise the file could not be read, and may be good.
 */
int journal_read(struct rebind *out, int dir_fd, struct errbuf *err);

#endif
