/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nodeos-contend observes the ranks of this host: it counts the misses of each rank in the
 * last-level cache, classes the rank, and writes documents to /run/nodeos-contend, which nodeosctl
 * contention reads. It is one process, started by systemd. It may be killed at any time: its state
 * is saved, and the journal of migration/ lets the next daemon finish a move of ranks.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "config.h"
#include "contend/log.h"
#include "contend/loop.h"
#include "host/conf.h"

static const char usage_text[] =
	"Usage: nodeos-contend [OPTION]...\n"
	"Observe which ranks of this host disturb others in the last-level cache, until a signal\n"
	"ends the program. Started by nodeos-contend.service of systemd. See nodeos-contend(8).\n"
	"\n"
	"  -c, --conf FILE     read FILE instead of " NODEOS_CONF_PATH "\n"
	"  -d, --run-dir DIR   write documents to DIR instead of " CONTEND_RUN_DIR "\n"
	"  -r, --root DIR      read DIR/proc and DIR/sys instead of the host's\n"
	"  -1, --once          scan once, write the documents, and end\n"
	"  -h, --help          print this\n"
	"  -V, --version       print the version\n";

static const struct option longs[] = {
	{ "conf", required_argument, NULL, 'c' },
	{ "run-dir", required_argument, NULL, 'd' },
	{ "root", required_argument, NULL, 'r' },
	{ "once", no_argument, NULL, '1' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

/* Raise the limit of descriptors as far as possible: each rank needs several for its counters. */
static void raise_descriptors(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

int main(int argc, char **argv)
{
	struct loop_options opt = { .conf = NODEOS_CONF_PATH, .run_dir = CONTEND_RUN_DIR };
	struct errbuf err = { 0 };
	int c;

	while ((c = getopt_long(argc, argv, "c:d:r:1hV", longs, NULL)) != -1)
		switch (c) {
		case 'c':
			opt.conf = optarg;
			break;
		case 'd':
			opt.run_dir = optarg;
			break;
		case 'r':
			opt.root = optarg;
			break;
		case '1':
			opt.once = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return 0;
		case 'V':
			puts("nodeos-contend " VERSION);
			return 0;
		default:
			return 2;
		}
	if (optind < argc) {
		fputs(usage_text, stderr);
		return 2;
	}
	umask(022);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_DUMPABLE, 0);
	raise_descriptors();
	if (loop_run(&opt, &err) == 0)
		return 0;
	contend_log("%s", err.text);
	return 1;
}
