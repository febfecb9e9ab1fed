/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_VNODE_COMMAND_H
#define NODEOS_VNODE_COMMAND_H

/*
 * Run "nodeosctl vnode" with its arguments; ARGV[0] is "vnode". Messages go to standard error.
 * Returns the exit status: 0 success, 1 failure, 2 wrong usage.
 */
int vnode_command(int argc, char **argv);

#endif
