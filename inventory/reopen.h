/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_INVENTORY_REOPEN_H
#define NODEOS_INVENTORY_REOPEN_H

#include "base/errbuf.h"
#include "inventory/record.h"

/*
 * At the destination, open each file of R that is not in the vnode's own file systems once, as root
 * and by its path, as CRIU will. A file that cannot be opened there (root_squash, another library,
 * a name that is gone) is refused while the tree still runs at the source. Only regular files and
 * directories are opened. A path with a symbolic link in a shared file system is refused, because a
 * user could set the link. Returns 0, or -1 with the path and the reason.
 */
int move_reopen_check(const struct move_record *r, struct errbuf *err);

#endif
