/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MOVE_LINK_H
#define NODEOS_MOVE_LINK_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/errbuf.h"

/*
 * The network of a vnode while it moves. Its address must exist once: the link at the source goes
 * down while the tree is held, and the link at the destination is up when the tree runs.
 */

/* Set the network device NAME of this host up or down. Returns 0, or -1 with the reason. */
int move_link_set(const char *name, bool up, struct errbuf *err);

/*
 * Announce the addresses of eth0 of process PID (gratuitous ARP), so that switches learn where the
 * vnode is now. A failure does not matter: the vnode's own packets do the same.
 */
void move_link_announce(pid_t pid);

#endif
