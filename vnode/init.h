/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_VNODE_INIT_H
#define NODEOS_VNODE_INIT_H

/*
 * "nodeos-vnode-init NAME MUNGE_KEY SLURM_CONF STOP_TIMEOUT" is the first process of a vnode. It
 * starts munged and slurmd, ends when slurmd ends, and ends both on SIGTERM.
 */
#define VNODE_LOG "/run/vnode.log" /* in the vnode: output of munged and slurmd */

#endif
