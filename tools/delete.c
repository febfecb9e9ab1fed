/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "tools/ask_args.h"
#include "tools/tool.h"

static const char usage_text[] =
	"Usage: nodeosctl delete [--job=ID] [--kill] [--json] CONTAINER\n"
	"Delete a container of your own on this node: its CPUs and memory nodes return to its job, "
	"for\n"
	"other containers (resize) and for ranks outside of containers; its buffer (dimmap) is "
	"removed.\n"
	"The job's later steps cannot use it on this node. nodeosd does the work.\n"
	"\n"
	"      --kill     end the ranks in it first; without --kill they must have ended\n"
	"      --job=ID   the container of that job (needed when several jobs have one of that "
	"name)\n"
	"  -j, --json     print JSON (schema 1)\n"
	"  -h, --help     print this\n"
	"\n"
	"Exit status: 0 done, 1 not possible (the container is unchanged, except for what the "
	"message names), 2 wrong usage.\n";

int tool_delete(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "kill", no_argument, NULL, 'k' },
		{ "job", required_argument, NULL, 'J' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct ask a = { .operation = ASK_DELETE };
	struct errbuf err = { 0 };
	int c, status = 0;

	optind = 1;
	while (status == 0 && (c = tool_getopt(argc, argv, "jh", longs)) != -1) {
		switch (c) {
		case 'k':
			a.kill = true;
			break;
		case 'J':
			status = tool_ask_job(&a, argv[0], optarg);
			break;
		case 'j':
			a.json = true;
			break;
		default:
			return tool_help(c, argv[0], usage_text);
		}
	}
	if (status)
		return status;
	if (optind + 1 != argc)
		return tool_wrong(argv[0], optind == argc ? "no CONTAINER given"
							  : "more than one CONTAINER given");
	status = tool_ask_container(&a, argv[0], argv[optind]);
	if (status)
		return status;
	return ask_node(&a, ASK_SOCKET, stdout, &err) < 0 ? tool_error(1, "delete: %s", err.text)
							  : 0;
}
