/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_CONTROL_COMMAND_H
#define NODEOS_GUEST_CONTROL_COMMAND_H

/*
 * Run "nodeosctl guest" with its arguments; ARGV[0] is "guest". Messages go to standard error.
 * Returns the exit status: 0 success, 1 failure, 2 wrong usage.
 */
int guest_control(int argc, char **argv);

#endif
