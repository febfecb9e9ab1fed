/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/policy.h"
#include "manifest/request.h"
#include "tools/tool.h"

static const char usage_text[] =
	"Usage: nodeosctl run --sched=POLICY -- COMMAND [ARGUMENT]...\n"
	"Run COMMAND and its children with a scheduling policy.\n"
	"\n"
	"  -s, --sched=POLICY  other, batch, idle, fifo[:PRIORITY], rr[:PRIORITY] or\n"
	"                      hpc[:user|rr|topo][,quantum:MS], as with srun\n"
	"  -h, --help          print this\n"
	"\n"
	"fifo, rr and hpc need CAP_SYS_NICE or a limit on rtprio (ulimit -r).\n"
	"Exit status: COMMAND's; 127 when it is not found, 126 when it cannot be run, 1 when the "
	"policy is refused, 2 wrong usage.\n";

/* The exit statuses that env(1), nice(1) and chrt(1) use, too. */
#define STATUS_NOT_FOUND 127
#define STATUS_CANNOT_RUN 126

int tool_run(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "sched", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct requested_container ask = { .policy = POLICY_UNSET };
	struct errbuf err;
	int c;

	optind = 1;
	while ((c = tool_getopt(argc, argv, "+s:h", longs)) != -1) {
		switch (c) {
		case 's':
			if (request_parse_sched(&ask, optarg, &err) < 0)
				return tool_error(2, "run: --sched: %s", err.text);
			break;
		default:
			return tool_help(c, argv[0], usage_text);
		}
	}
	if (ask.policy == POLICY_UNSET || optind == argc)
		return tool_wrong(argv[0], ask.policy == POLICY_UNSET ? "--sched is missing"
								      : "no COMMAND to run");
	if (policy_apply(0, ask.policy, ask.priority, request_quantum(&ask, ask.policy), &err) < 0)
		return tool_error(1, "run: %s", err.text);
	execvp(argv[optind], argv + optind);
	return tool_error(errno == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN, "run: %s: %s",
			  argv[optind], strerror(errno));
}
