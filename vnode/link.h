/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_VNODE_LINK_H
#define NODEOS_VNODE_LINK_H

#include <sys/types.h>

#include "base/errbuf.h"
#include "vnode/conf.h"
#include "vnode/state.h"

/*
 * The network link of a vnode is a veth pair: "vn-NAME" in a bridge of the host, and eth0 in the
 * vnode. The functions run ip(8), for 10 s at most. Each returns 0, or -1 with the reason.
 */
#define VNODE_LINK_INSIDE "eth0"

/* Write "vn-NAME". */
void vnode_link_name(char link[VNODE_LINK_MAX], const char *name);

/* Make the link of C, with its end in the network namespace of process PID. */
int vnode_link_add(const struct vnode_conf *c, const char *link, pid_t pid, struct errbuf *err);

/* Remove LINK and its peer. A missing link is no error. */
int vnode_link_remove(const char *link, struct errbuf *err);

/* To be called in the vnode: give eth0 its address, and bring eth0 and lo up. Writes to /proc. */
int vnode_link_configure(const struct vnode_conf *c, struct errbuf *err);

/* Check that this host has a network link NAME. Does not check that the link is a bridge. */
int vnode_link_check_bridge(const char *name, struct errbuf *err);

#endif
