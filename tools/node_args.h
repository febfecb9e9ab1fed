/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOOLS_NODE_ARGS_H
#define NODEOS_TOOLS_NODE_ARGS_H

#include <getopt.h>
#include <stdbool.h>

struct node_options {
	bool json;
	bool verbose;
	bool parcel;
	unsigned long job; /* 0: not given */
};

/*
 * Parse the options of a command that reads this node. LONGS lists the options that the command
 * allows, out of --json, --help, --job=ID, --verbose and --parcel ('j', 'h', 'J', 'v', 'P').
 * Returns -1 to continue, or the exit status.
 */
int tool_node_options(struct node_options *o, int argc, char **argv, const struct option *longs,
		      const char *usage);

#endif
