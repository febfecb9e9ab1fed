/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOOLS_CHECK_H
#define NODEOS_TOOLS_CHECK_H

/*
 * nodeosctl check: validate manifests, without asking a node. ARGV[0] is the command's name.
 * Returns the exit status: 0 if all manifests are valid; 1 after one line on standard error for
 * each invalid manifest; 2 for wrong usage.
 */
int tool_check(int argc, char **argv);

#endif
