/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nodeos-vnode-receive: takes a vnode that another host moves here (move/receive.h). */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/printable.h"
#include "move/receive.h"

static const char usage[] =
	"usage: nodeos-vnode-receive [OPTION]... [NAME]\n"
	"\n"
	"Takes one vnode from another host, over standard input and output. sshd starts it, as "
	"the\n"
	"forced command of a key of the other host (nodeosctl-vnode(1)); with NAME, for that\n"
	"vnode only.\n"
	"\n"
	"  --unit UNIT    the vnode's unit; default: nodeos-vnode@NAME.service\n"
	"  --bare         restore without a unit and a cgroup, for tests\n"
	"  --run DIR, --state DIR, --conf DIR, --nodeos-conf FILE, --no-slurm\n"
	"                 other places of run directory, journal, vnode.d and nodeos.conf, and no\n"
	"                 questions to slurmctld, for tests\n";

static int parse_receive_arguments(struct receive *r, int argc, char **argv)
{
	static const struct option option[] = { { "unit", required_argument, NULL, 'u' },
						{ "bare", no_argument, NULL, 'b' },
						MOVE_SITE_OPTIONS,
						{ "help", no_argument, NULL, 'h' },
						{ 0 } };
	int c;

	while ((c = getopt_long(argc, argv, "", option, NULL)) != -1)
		switch (c) {
		case 'u':
			r->unit = optarg;
			break;
		case 'b':
			r->bare = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(EXIT_SUCCESS);
		default:
			if (!move_site_option(&r->site, c, optarg))
				return -1;
		}
	if (argc - optind > 1)
		return -1;
	r->only = argv[optind];
	return 0;
}

int main(int argc, char **argv)
{
	static struct receive r;
	struct errbuf err = { 0 };
	char text[PRINTABLE_LOG_MAX];

	move_site_default(&r.site);
	if (parse_receive_arguments(&r, argc, argv) < 0) {
		fputs(usage, stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	wire_open(&r.wire, STDIN_FILENO, STDOUT_FILENO, MOVE_SECONDS);
	if (receive_serve(&r, &err) == 0)
		return EXIT_SUCCESS;
	fprintf(stderr, "nodeos-vnode-receive: %s\n", printable(text, sizeof(text), err.text));
	return EXIT_FAILURE;
}
