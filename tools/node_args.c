/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/node_args.h"

#include <stdio.h>
#include <stdlib.h>

#include "tools/tool.h"

static bool has_verbose(const struct option *longs)
{
	while (longs->name && longs->val != 'v')
		longs++;
	return longs->name != NULL;
}

int tool_node_options(struct node_options *o, int argc, char **argv, const struct option *longs,
		      const char *usage)
{
	bool verbose = has_verbose(longs);
	int c;

	*o = (struct node_options){ .json = false };
	optind = 1;
	while ((c = tool_getopt(argc, argv, verbose ? "jvh" : "jh", longs)) != -1) {
		char *end = NULL;

		if (c == 'j') {
			o->json = true;
		} else if (c == 'v') {
			o->verbose = true;
		} else if (c == 'P') {
			o->parcel = true;
		} else if (c == 'J') {
			o->job = strtoul(optarg, &end, 10);
			if (*optarg < '0' || *optarg > '9' || o->job == 0 || *end)
				return tool_error(2,
						  "%s: --job=%.40s: expected the number of a job",
						  argv[0], optarg);
		} else {
			return tool_help(c, argv[0], usage);
		}
	}
	if (optind == argc)
		return -1;
	return tool_wrong(argv[0], "unexpected argument \"%.100s\"", argv[optind]);
}
