/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_VNODE_SWAP_H
#define NODEOS_VNODE_SWAP_H

/*
 * "nodeosctl vnode swap A HOSTA B HOSTB": each vnode goes to the host of the other one. ssh starts
 * a move on each host, one after the other; if the second move is refused, the first is undone.
 *
 * Returns the exit code: 0 if both vnodes have moved; 1 if both are where they were; 2 for wrong
 * usage; 3 otherwise: the message says where they are, or that this is not known.
 */
int vnode_swap(int argc, char **argv);

#endif
