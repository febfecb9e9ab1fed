/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_TRUSTED_OPEN_H
#define NODEOS_BASE_TRUSTED_OPEN_H

#include <sys/types.h>

#include "base/errbuf.h"

/*
 * Open for reading the regular file PATH that only root and OWNER can change: it belongs to one of
 * them, and neither group nor others can write it. PATH may lead there by symbolic links that
 * belong to them, too. From the first link on, the same holds for the directories on the way, since
 * a user that can write to them could put another file in its place; a directory like /tmp (root's,
 * and sticky) counts as root's. Returns a descriptor, or -1 with the reason, with errno ENOENT when
 * there is no such file.
 */
int trusted_open(const char *path, uid_t owner, struct errbuf *err);

#endif
