/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/words.h"
#include "collect/reports.h"
#include "host/conf.h"

#define LOCK_FILE "collect.lock"
#define GRACE_INTERVALS 2 /* in units of contention_report_interval */
#define DAY 86400.0

static const char usage_text[] =
	"Usage: nodeosctl contention collect [--dry-run] [--json] [--keep=DAYS] [--dir=DIR]\n"
	"                                    [--conf=FILE]\n"
	"Merge the nodes' reports of contention_report_dir into a record of each job, and write it "
	"to Slurm.\n"
	"To be run on the head node by the user contention_report_user, from "
	"nodeos-collect.timer.\n"
	"\n"
	"  -n, --dry-run    change nothing, and print what a run would change\n"
	"  -j, --json       print JSON (schema 1)\n"
	"      --keep=DAYS  remove the files of finished jobs after DAYS (7)\n"
	"      --dir=DIR    read DIR instead of contention_report_dir\n"
	"      --conf=FILE  read FILE instead of " NODEOS_CONF_PATH "\n"
	"  -h, --help       print this\n\n"
	"Manual page: man nodeosctl-contention-collect\n";

struct collect_options {
	const char *conf, *dir; /* NULL: not given on the command line */
	unsigned keep; /* days */
	bool dry, json;
};

enum { OPTION_KEEP = 256, OPTION_DIR, OPTION_CONF };

/* Returns 2, the exit status for wrong usage. */
static int __attribute__((format(printf, 2, 3)))
refuse_option(collect_say *say, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say(text);
	say("see nodeosctl contention collect --help");
	return 2;
}

/* Returns the exit status, or -1 to continue. */
static int parse_collect_options(struct collect_options *o, int argc, char **argv, collect_say *say)
{
	static const struct option longs[] = {
		{ "dry-run", no_argument, NULL, 'n' },
		{ "json", no_argument, NULL, 'j' },
		{ "keep", required_argument, NULL, OPTION_KEEP },
		{ "dir", required_argument, NULL, OPTION_DIR },
		{ "conf", required_argument, NULL, OPTION_CONF },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	*o = (struct collect_options){ .keep = 7 };
	optind = 0;
	while ((c = getopt_long(argc, argv, "njh", longs, NULL)) != -1)
		switch (c) {
		case 'n':
			o->dry = true;
			break;
		case 'j':
			o->json = true;
			break;
		case OPTION_KEEP:
			if (word_parse_number(optarg, 0, 36500, &o->keep) < 0)
				return refuse_option(say, "--keep=%.200s: expected 0 to 36500 days",
						     optarg);
			break;
		case OPTION_DIR:
			o->dir = optarg;
			break;
		case OPTION_CONF:
			o->conf = optarg;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return 0;
		default:
			say("see nodeosctl contention collect --help");
			return 2;
		}
	return optind == argc ? -1 : refuse_option(say, "unexpected \"%.200s\"", argv[optind]);
}

/*
 * Take the lock that allows only one run at a time, without waiting. Returns the descriptor of its
 * file, or -1 with the reason.
 */
static int take_lock(int dir, struct errbuf *err)
{
	int fd = openat(dir, LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	errprintf(err, "%s",
		  fd >= 0 && errno == EWOULDBLOCK ? "another run holds the lock" : strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

static void visit_jobs(struct collect *c)
{
	struct dirent **entry;
	int n = scandirat(c->dir, ".", &entry, NULL, compare_names);

	if (n < 0) {
		collect_fail(c, "%s: %s", c->path, strerror(errno));
		return;
	}
	for (int i = 0; i < n; i++) {
		if (c->failures < COLLECT_FAILURES_MAX)
			collect_job(c, entry[i]->d_name);
		free(entry[i]);
	}
	free(entry);
}

/* Visit all jobs, then the nodes. */
static void collect_all(struct collect *c, bool node_extra)
{
	if (c->j) {
		jout_open(c->j, NULL, '{');
		jout_number(c->j, "schema", 1);
		jout_string(c->j, "kind", "collect");
		jout_bool(c->j, "dry_run", c->dry);
		jout_open(c->j, "jobs", '[');
	}
	visit_jobs(c);
	if (c->j) {
		jout_close(c->j, ']');
		jout_open(c->j, "nodes", '[');
	}
	if (node_extra)
		collect_nodes(c);
	else
		collect_nodes_clear(c);
	if (c->j) {
		jout_close(c->j, ']');
		jout_close(c->j, '}');
	}
	if (c->failures >= COLLECT_FAILURES_MAX)
		c->say("too many failures: this run ends; the next run handles the other jobs and "
		       "nodes");
}

static int run_collect(struct collect *c, bool node_extra)
{
	struct errbuf err = { 0 };
	int lock = -1;

	c->dir = report_dir_open(c->path, &err);
	if (c->dir < 0) {
		c->say(err.text);
		return 1;
	}
	if (!c->dry && (lock = take_lock(c->dir, &err)) < 0) {
		errwrap(&err, "%s/" LOCK_FILE, c->path);
		c->say(err.text);
		close(c->dir);
		return 1;
	}
	slurm_clean_environment();
	c->n_jobs = slurm_jobs_load(&c->jobs, &err);
	if (c->n_jobs < 0) {
		collect_fail(c, "%s", err.text);
	} else {
		collect_state_load(c);
		collect_all(c, node_extra);
		collect_state_save(c);
		collect_state_free(c);
		free(c->jobs);
	}
	close(c->dir);
	if (lock >= 0)
		close(lock);
	return c->failures ? 1 : 0;
}

int collect_command(int argc, char **argv, collect_say *say)
{
	static struct conf conf;
	struct json_out j = { .f = stdout };
	struct collect c = { .say = say, .accounts = -1 };
	struct errbuf err = { 0 };
	struct collect_options o;
	int status = parse_collect_options(&o, argc, argv, say);
	const char *path;

	if (status >= 0)
		return status;
	path = o.conf ? o.conf : NODEOS_CONF_PATH;
	if (conf_load(&conf, path, o.conf ? geteuid() : 0, &err) == 0) {
		errclear(&err); /* without the file, all keys have their defaults */
		c.path = o.dir ? o.dir : conf.contention.report_dir;
		if (!*c.path)
			errprintf(&err, "contention_report_dir is not set; set it in %s", path);
	}
	if (*err.text) {
		say(err.text);
		return 1;
	}
	c.now = (double)time(NULL);
	c.dry = o.dry;
	c.j = o.json ? &j : NULL;
	c.record = conf.contention.record;
	c.grace = GRACE_INTERVALS * conf.contention.report_interval;
	c.keep = o.keep * DAY;
	return run_collect(&c, conf.contention.node_extra);
}
