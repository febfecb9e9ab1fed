/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MOVE_RESTORE_H
#define NODEOS_MOVE_RESTORE_H

#include "move/site.h"

/*
 * The supervisor of a vnode that comes by a move: the program nodeos-vnode-restore. nodeos-vnode,
 * in the vnode's unit, becomes this program when it finds VNODE_INCOMING_FILE. The receiver
 * (move/receive.h) has the vnode's image, holds its lock, and waits.
 *
 * Make the vnode's place on this host, and let CRIU restore the vnode into its cgroup. The gate
 * holds it there until the journal has MOVE_LIVE. Then record the vnode, and supervise it as
 * vnode_supervise() does. BARE: make no place, do not supervise, and return when the vnode runs.
 *
 * Returns 0, or -1: the vnode did not run here or, with *RAN set, has ended by itself.
 */
int restore_vnode(struct move_site *s, bool bare, bool *ran, struct errbuf *err);

#endif
