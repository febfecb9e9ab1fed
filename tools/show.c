/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hostname.h"
#include "control/protocol.h"
#include "report/parcel.h"
#include "tools/node_args.h"
#include "tools/tool.h"

static const char usage_text[] =
	"Usage: nodeosctl show [--json|--parcel] [--job=ID]\n"
	"Show the containers of your own jobs on this node, as report does for root: the request,\n"
	"the choice and its reasons, the outcome of each isolator, and what the kernel shows of "
	"every\n"
	"rank now. nodeosd answers, on a node of the job.\n"
	"\n"
	"  -j, --json     print JSON (schema 1)\n"
	"      --parcel   print short lines that begin with the node's name, for report of all "
	"nodes\n"
	"      --job=ID   show only that job\n"
	"  -h, --help     print this\n";

static int show_parcel(struct ask *a)
{
	struct errbuf err = { 0 };
	char node[NODE_NAME_MAX], *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int rc = f ? 0 : errprintf(&err, "out of memory");

	a->json = true;
	hostname_short(node);
	if (rc == 0)
		rc = ask_node(a, ASK_SOCKET, f, &err);
	if (f && fclose(f) != 0)
		rc = errprintf(&err, "out of memory");
	if (rc == 0)
		parcel_write(stdout, node, text);
	free(text);
	return rc < 0 ? tool_error(1, "show: %s: %s", node, err.text) : 0;
}

int tool_show(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "job", required_argument, NULL, 'J' },
		{ "parcel", no_argument, NULL, 'P' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct ask a = { .operation = ASK_SHOW };
	struct errbuf err = { 0 };
	struct node_options o;
	int status = tool_node_options(&o, argc, argv, longs, usage_text);

	if (status >= 0)
		return status;
	if (o.job > UINT32_MAX)
		return tool_error(2, "show: --job=%lu: expected a job number up to 4294967295",
				  o.job);
	a.json = o.json;
	a.job = (uint32_t)o.job;
	if (o.parcel)
		return show_parcel(&a);
	return ask_node(&a, ASK_SOCKET, stdout, &err) < 0 ? tool_error(1, "show: %s", err.text) : 0;
}
