/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MOVE_UNIT_H
#define NODEOS_MOVE_UNIT_H

#include <sys/types.h>

#include "base/errbuf.h"
#include "move/site.h"

/*
 * The vnode's unit at the destination: systemd starts it, in a cgroup of its own, and its program
 * finds VNODE_INCOMING_FILE and restores the vnode (move/restore.h). The unit is started when the
 * vnode runs, so "systemctl start" ends with the restore.
 */
/* Start UNIT. Returns the process that waits for it, a child of the caller, or -1. */
pid_t move_unit_start(const char *unit, struct errbuf *err);

/* Restore in a child of the caller, without unit and cgroup. Returns the child, or -1. */
pid_t move_unit_bare(const struct move_site *s, struct errbuf *err);

/* Stop UNIT, also when it is about to restart. Waits for 60 s at most. */
void move_unit_stop(const char *unit);

#endif
