/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_VNODE_MARK_H
#define NODEOS_HOST_VNODE_MARK_H

/* A file with the name of the vnode; it exists only inside of a vnode (vnode/launch.c). */
#define VNODE_MARK "/run/nodeos/vnode"

#endif
