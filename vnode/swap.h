/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_VNODE_SWAP_H
#define NODEOS_VNODE_SWAP_H

/*
 * "nodeosctl vnode swap A HOSTA B HOSTB": each vnode goes to the host of the other one. Two moves,
 * started on both hosts by ssh; if the second is refused, the first is undone.
 *
 * Returns the exit code: 0 both have moved; 1 both are where they were; 2 wrong usage; 3 neither,
 * or not known, as the message says.
 */
int vnode_swap(int argc, char **argv);

#endif
