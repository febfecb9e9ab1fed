/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_CHANGES_H
#define NODEOS_CONTROL_CHANGES_H

#include <stdbool.h>

#include "base/errbuf.h"

/*
 * A file that everybody may read and watch (inotify), of one number: how many times a container of
 * this node was resized since its boot. Whose, it does not tell.
 */
#define CHANGES_FILE "/run/nodeosd.changes"

/*
 * Make PATH, where it is missing; then count one more, if MORE. The lock that this needs is in
 * STATE_DIR: that of PATH is anybody's who reads it. Where nothing was ever in STATE_DIR, there is
 * nothing to watch, and PATH is not made.
 */
int changes_note(const char *path, const char *state_dir, bool more, struct errbuf *err);

#endif
