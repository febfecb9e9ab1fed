/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_VNODE_ROOT_H
#define NODEOS_VNODE_ROOT_H

#include "base/errbuf.h"
#include "vnode/conf.h"

/*
 * Check on the host, before the vnode exists, that the directories and mounts that C names exist.
 * Returns 0, or -1 with the reason.
 */
int vnode_root_check(const struct vnode_conf *c, struct errbuf *err);

/*
 * To be called by the first process of a vnode in its new namespaces: build the vnode's file system
 * at the empty directory AT, and make AT the root. It consists of the host's root, read-only; a
 * tmpfs on /dev, /dev/shm, /tmp, /run and the directories that C names; the host's mounts that C
 * names; /proc and /sys. No other mount remains in the namespace, and the mounts of the host do not
 * change. Returns 0, or -1 with the reason.
 */
int vnode_root_enter(const struct vnode_conf *c, const char *at, struct errbuf *err);

#endif
