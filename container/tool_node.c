/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/tool_node.h"

#include <stdio.h>
#include <stdlib.h>

int tool_node_options(int argc, char **argv, const struct option *longs, const char *usage, bool *json, unsigned long *job)
{
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "jh", longs, NULL)) != -1) {
		char *end = NULL;

		if (c == 'j') {
			*json = true;
		} else if (c == 'J' && job && (*job = strtoul(optarg, &end, 10)) > 0 && !*end) {
			continue;
		} else {
			fputs(usage, c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
	}
	if (optind == argc)
		return -1;
	fputs(usage, stderr);
	return 2;
}
