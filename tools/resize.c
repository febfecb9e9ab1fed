/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "tools/ask_args.h"
#include "tools/tool.h"

static const char usage_text[] =
	"Usage: nodeosctl resize [--job=ID] [--step=ID] [--cpus=[+-]N] [--mems=[+-]N|SIZE] "
	"[--json] CONTAINER\n"
	"Give a container of your own more or fewer of the job's CPUs and memory nodes on this "
	"node.\n"
	"Its ranks are bound again with all their threads. Pages on memory nodes that it gives up "
	"are\n"
	"moved; pages that cannot be moved are reported. Other containers of the job can take what "
	"it\n"
	"gives up. nodeosd does the work.\n"
	"\n"
	"      --cpus=N   hardware threads that ranks may run on, rounded up to whole cores; +N, "
	"-N:\n"
	"                 N more or fewer than now\n"
	"      --mems=N   memory nodes, where the site allows it (resize_mems of nodeos.conf, off "
	"by\n"
	"                 default); +N, -N: N more or fewer; or a size, such as 16G; nodes of one\n"
	"                 kind: hbm:N, hbm:+N, hbm:16G\n"
	"      --job=ID   the container of that job (if several jobs have one of that name)\n"
	"      --step=ID  the container of that step's ranks; ID is N, or JOB.N\n"
	"  -j, --json     print JSON (schema 1)\n"
	"  -h, --help     print this\n"
	"\n"
	"Exit status: 0 done, 1 not possible (nothing has changed, except for what the message "
	"names), 2 wrong usage.\n";

static int resize_take_cpus(struct ask *a, const char *text)
{
	if (ask_parse_amount(&a->cpus, text, false) == 0)
		return 0;
	return tool_error(
		2,
		"resize: --cpus=%.40s: expected a number of hardware threads from 1 on, +N or -N",
		text);
}

static int resize_take_mems(struct ask *a, const char *text)
{
	if (ask_parse_mems(&a->mems, text) == 0)
		return 0;
	return tool_error(2,
			  "resize: --mems=%.40s: expected a number of memory nodes from 1 on, +N "
			  "or -N, or a size such as 16G",
			  text);
}

int tool_resize(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "cpus", required_argument, NULL, 'c' },
		{ "mems", required_argument, NULL, 'm' },
		{ "job", required_argument, NULL, 'J' },
		{ "step", required_argument, NULL, 'S' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct ask a = { .operation = ASK_RESIZE };
	struct errbuf err = { 0 };
	int c, status = 0;

	optind = 1;
	while (status == 0 && (c = tool_getopt(argc, argv, "jh", longs)) != -1) {
		switch (c) {
		case 'c':
			status = resize_take_cpus(&a, optarg);
			break;
		case 'm':
			status = resize_take_mems(&a, optarg);
			break;
		case 'J':
			status = tool_ask_job(&a, argv[0], optarg);
			break;
		case 'S':
			status = tool_ask_step(&a, argv[0], optarg);
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
	if (!a.cpus.given && !a.mems.given)
		return tool_error(2, "resize: no size given: expected --cpus=N, --mems=N or both");
	status = tool_ask_container(&a, argv[0], argv[optind]);
	if (status)
		return status;
	return ask_node(&a, ASK_SOCKET, stdout, &err) < 0 ? tool_error(1, "resize: %s", err.text)
							  : 0;
}
