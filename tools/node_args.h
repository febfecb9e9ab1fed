/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOOLS_NODE_ARGS_H
#define NODEOS_TOOLS_NODE_ARGS_H

#include <getopt.h>
#include <stdbool.h>

/*
 * Options of the commands that look at this node: --json, --help, and unless they are NULL
 * --job=ID, --verbose and --parcel, as LONGS says ('j', 'h', 'J', 'v', 'P'). Returns -1 to go on,
 * or the exit status.
 */
int tool_node_options(int argc, char **argv, const struct option *longs, const char *usage,
		      bool *json, unsigned long *job, bool *verbose, bool *parcel);

#endif
