/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MOVE_FREEZE_H
#define NODEOS_MOVE_FREEZE_H

#include <stdbool.h>

#include "base/errbuf.h"

/*
 * The freezer of a vnode's cgroup at the source. It holds the vnode's processes in addition to
 * CRIU: none of them runs if CRIU or the gate is killed while the destination may have the vnode.
 * GROUP is the path of the cgroup below the mount. With "", in tests, these functions do nothing.
 */
/* Freeze, or thaw, all processes of GROUP. Returns 0, or -1 with the reason. */
int move_group_freeze(const char *group, bool freeze, struct errbuf *err);

/* Kill all processes of GROUP, also frozen ones. Returns 0, or -1 with the reason. */
int move_group_kill(const char *group, struct errbuf *err);

#endif
