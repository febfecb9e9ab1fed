/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_CHANGES_H
#define NODEOS_CONTROL_CHANGES_H

#include <stdbool.h>

#include "base/errbuf.h"

/*
 * A file that all users may read and watch (inotify). It holds one number: how often containers of
 * this node, no matter which, were resized since its boot.
 */
#define CHANGES_FILE "/run/nodeosd.changes"

/*
 * Make PATH if it is missing; if MORE, add one to its number. The lock is in STATE_DIR, as every
 * reader of PATH could lock PATH itself. If STATE_DIR never existed, no container did: PATH is not
 * made.
 */
int changes_note(const char *path, const char *state_dir, bool more, struct errbuf *err);

#endif
