/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_CHANGES_H
#define NODEOS_CONTROL_CHANGES_H

#include <stdbool.h>

#include "base/errbuf.h"

/*
 * A file that all users may read and watch (inotify). It contains one number: how many times
 * containers of this node, of any user, were resized or deleted since the boot.
 */
#define CHANGES_FILE "/run/nodeosd.changes"

/*
 * Create PATH if it is missing; if MORE, add one to its number. The lock for this is in STATE_DIR,
 * since every reader of PATH could lock PATH itself. If STATE_DIR does not exist, this node never
 * had a container, and PATH is not created. Returns 0, or -1 with the reason.
 */
int changes_note(const char *path, const char *state_dir, bool more, struct errbuf *err);

#endif
