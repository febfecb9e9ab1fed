/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_TRUSTED_OPEN_H
#define NODEOS_BASE_TRUSTED_OPEN_H

#include <sys/types.h>

#include "base/errbuf.h"

/*
 * Open for reading the regular file PATH if only root and OWNER can change it: it must belong to
 * one of them, and neither group nor others may write it. PATH may contain symbolic links that
 * belong to root or OWNER. From the first link on, the directories on the way must meet the same
 * condition, since a user that can write there could put another file in place; a directory such as
 * /tmp (root's, and sticky) meets the condition. Returns a descriptor, or -1 with the reason and
 * errno (ENOENT: there is no such file).
 */
int trusted_open(const char *path, uid_t owner, struct errbuf *err);

#endif
