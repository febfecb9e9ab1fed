/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MOVE_RESTORE_H
#define NODEOS_MOVE_RESTORE_H

#include "move/site.h"

/*
 * The supervisor of a vnode that comes by a move: nodeos-vnode-restore, which nodeos-vnode becomes
 * in the vnode's unit when it finds VNODE_INCOMING_FILE. The receiver (move/receive.h) has its
 * image, holds its lock, and waits.
 *
 * Makes the vnode's place on this host, lets CRIU restore it into its cgroup, where the gate holds
 * it until the journal has MOVE_LIVE; then records it and supervises it as vnode_supervise() does.
 * BARE: makes no place, does not supervise, and returns when the vnode runs.
 *
 * Returns 0; -1: the vnode did not run here, or, with *RAN set, has ended by itself.
 */
int restore_vnode(struct move_site *s, bool bare, bool *ran, struct errbuf *err);

#endif
