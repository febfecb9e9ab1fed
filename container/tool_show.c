/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdbool.h>
#include <stdio.h>

#include "container/ask.h"
#include "container/tool.h"
#include "container/tool_node.h"

static const char usage_text[] =
	"Usage: nodeosctl show [--json] [--job=ID]\n"
	"Show the containers of your own jobs on this node, as report does for root: what was asked,\n"
	"what was chosen and why, what became of each isolator, and what the kernel shows of every\n"
	"rank now. nodeosd answers it, on a node of the job.\n"
	"\n"
	"  -j, --json     print JSON (schema 1)\n"
	"      --job=ID   only that job\n"
	"  -h, --help     print this\n";

int tool_show(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' }, { "job", required_argument, NULL, 'J' },
		{ "help", no_argument, NULL, 'h' }, { 0 },
	};
	struct ask a = { .operation = ASK_SHOW };
	struct errbuf err = { "" };
	unsigned long job = 0;
	int status = tool_node_options(argc, argv, longs, usage_text, &a.json, &job, NULL, NULL);

	if (status >= 0)
		return status;
	if (job > UINT32_MAX)
		return tool_error(2, "show: --job=%lu: no job has such a number", job);
	a.job = (uint32_t)job;
	return ask_node(&a, ASK_SOCKET, stdout, &err) < 0 ? tool_error(1, "show: %s", err.text) : 0;
}
