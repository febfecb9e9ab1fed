/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/program.h"
#include "base/secret.h"
#include "host/conf.h"
#include "tools/bundle.h"
#include "tools/bundle_node.h"
#include "tools/tool.h"

static const char usage_text[] =
	"Usage: nodeosctl support-bundle [--output=FILE.tar.gz] [--job=ID]\n"
	"Gather in one archive what is needed to understand a problem on this node: what report, "
	"list,\n"
	"verify and features tell, the ledger, cgroups, topology, configuration and logs; of users "
	"that\n"
	"are not root their own containers and what the node can do. Values of passwords, keys, "
	"secrets\n"
	"and tokens are masked. Nothing is sent anywhere: look through it first.\n"
	"\n"
	"  -o, --output=FILE  write this archive (default: nodeos-support-NODE-TIME.tar.gz here);\n"
	"                     a file that is there is not overwritten\n"
	"      --job=ID       of jobs with containers only that one\n"
	"  -h, --help         print this\n";

static const char about_text[] =
	"A support bundle of NodeOS for Slurm. Look through it before it is sent to anybody.\n"
	"Behind names with pass, key, secret or token, and AuthAltParameters, there is " SECRET_MASK
	".\n"
	"In it are names of users, nodes, jobs, containers and files of buffers. Left out on "
	"purpose are\n"
	"environments and command lines of jobs, job scripts, manifests and files of users. Logs "
	"are as\n"
	"the daemons wrote them: with SlurmdDebug=debug2 and above they may tell of commands of "
	"jobs.\n";

/* Who it is gathered for. */
enum who { ROOT = 1, USER = 2, BOTH = ROOT | USER };

/* What programs print; an empty ARGV[0] is nodeosctl itself. */
static const struct print {
	enum who who;
	const char *file;
	bool job; /* takes --job */
	unsigned timeout, how;
	const char *argv[12];
} prints[] = {
	{ ROOT, "list.txt", false, 60, 0, { "", "list" } },
	{ ROOT, "list.json", false, 60, BUNDLE_STDOUT, { "", "list", "--json" } },
	{ ROOT, "report.txt", true, 60, 0, { "", "report" } },
	{ ROOT, "report.json", true, 60, BUNDLE_STDOUT, { "", "report", "--json" } },
	{ ROOT, "verify.txt", true, 120, 0, { "", "verify", "--verbose" } },
	{ USER, "show.txt", true, 60, 0, { "", "show" } },
	{ USER, "show.json", true, 60, BUNDLE_STDOUT, { "", "show", "--json" } },
	{ BOTH, "features.txt", false, 60, 0, { "", "features" } },
	{ BOTH, "site.txt", false, 60, 0, { "", "features", "--site" } },
	{ BOTH, "versions/slurm.txt", false, 30, 0, { "scontrol", "--version" } },
	{ BOTH, "versions/hwloc.txt", false, 30, 0, { "hwloc-info", "--version" } },
	{ ROOT,
	  "logs/units.txt",
	  false,
	  30,
	  BUNDLE_MASK,
	  { "systemctl", "--no-pager", "--all", "list-units", "nodeos*", "slurm*" } },
	{ ROOT,
	  "logs/journal.txt",
	  false,
	  60,
	  BUNDLE_MASK,
	  { "journalctl", "--no-pager", "--quiet", "--since=-1h", "--lines=20000",
	    "--output=short-iso", "--unit=slurmd*", "--unit=nodeos*" } },
};

static const struct copy {
	enum who who;
	const char *file, *path;
	unsigned how;
} copies[] = {
	{ BOTH, "files/nodeos.conf", NODEOS_CONF_PATH, BUNDLE_MASK },
	{ BOTH, "versions/system.txt", "/etc/os-release", 0 },
	{ BOTH, "kernel/version", "/proc/version", 0 },
};

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
	(void)sig;
	stopped = 1;
}

struct gathering {
	struct bundle *b;
	enum who who;
	unsigned long job;
	char self[PROGRAM_PATH_MAX];
	struct conf conf;
};

static int put_print(struct gathering *g, const struct print *p, struct errbuf *err)
{
	const char *argv[sizeof(p->argv) / sizeof(p->argv[0]) + 2];
	char job[32];
	size_t n = 0;

	for (; p->argv[n]; n++)
		argv[n] = *p->argv[n] ? p->argv[n] : g->self;
	if (p->job && g->job) {
		snprintf(job, sizeof(job), "--job=%lu", g->job);
		argv[n++] = job;
	}
	argv[n] = NULL;
	return bundle_program(g->b, p->file, argv, p->timeout, p->how, err);
}

/*
 * hwloc's own archive of /proc and /sys files. It has the kernel's command line as it is: not where
 * that has a secret. And not what processors tell of themselves: for that it would run on each CPU,
 * beside the ranks.
 */
static int put_hwloc(struct gathering *g, struct errbuf *err)
{
	static const char file[] = "topology/hwloc.tar.bz2", what[] = "hwloc-gather-topology";
	char program[PROGRAM_PATH_MAX], dir[PATH_MAX], path[PATH_MAX + 16], line[8192] = "";
	const char *argv[] = { program, "--no-cpuid", path, NULL };
	char *masked;
	bool secret;
	int rc;

	if (!program_find(what, program))
		return bundle_missing(g->b, file, what, "not installed", err);
	masked = file_read_line("/proc/cmdline", line, sizeof(line)) < 0 ? NULL : secret_mask(line);
	secret = !masked || strcmp(masked, line) != 0;
	free(masked);
	if (secret)
		return bundle_missing(
			g->b, file, what,
			"left out: it would hold the kernel's command line, which has a secret",
			err);
	/* where it leaves what it has when its time is over goes with the bundle's directory */
	bundle_dir(g->b, "topology", dir);
	bundle_scratch(g->b, path);
	setenv("TMPDIR", path, 1);
	snprintf(path, sizeof(path), "%s/hwloc", dir);
	rc = bundle_program(g->b, "topology/hwloc.txt", argv, 120, 0, err);
	unsetenv("TMPDIR");
	/* older ones make two files, newer ones three */
	strcat(path, ".xml");
	if (rc == 0 && access(path, F_OK) == 0)
		rc = bundle_made(g->b, "topology/hwloc.xml", what, err);
	return rc < 0 || bundle_made(g->b, "topology/hwloc.output", what, err) < 0
		       ? -1
		       : bundle_made(g->b, file, what, err);
}

/* First what tells of the node as it is: list, report and verify sweep what ended jobs have left.
 */
static int gather_untouched(struct gathering *g, struct errbuf *err)
{
	char cgroup[CGROUP_PATH_MAX];

	if (g->who != ROOT)
		return 0;
	if (bundle_ledger(g->b, g->conf.state_dir, g->job, cgroup, err) < 0 ||
	    bundle_cgroups(g->b, NULL, cgroup, err) < 0)
		return -1;
	return bundle_buffers(g->b, err);
}

static int gather_prints(struct gathering *g, struct errbuf *err)
{
	for (size_t i = 0; i < sizeof(prints) / sizeof(prints[0]) && !stopped; i++)
		if (prints[i].who & g->who && put_print(g, &prints[i], err) < 0)
			return -1;
	return 0;
}

static int gather_files(struct gathering *g, struct errbuf *err)
{
	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++)
		if (copies[i].who & g->who &&
		    bundle_file(g->b, copies[i].file, copies[i].path, copies[i].how, err) < 0)
			return -1;
	return bundle_libraries(g->b, err);
}

static int gather_kernel(struct gathering *g, struct errbuf *err)
{
	return bundle_kernel(g->b, g->who == ROOT, err);
}

static int gather_slurm(struct gathering *g, struct errbuf *err)
{
	return g->who == ROOT ? bundle_slurm(g->b, err) : 0;
}

static int gather(struct gathering *g, struct errbuf *err)
{
	static int (*const step[])(struct gathering * g, struct errbuf * err) = {
		gather_untouched, gather_prints, gather_files,
		gather_kernel,	  gather_slurm,	 put_hwloc,
	};

	for (size_t i = 0; i < sizeof(step) / sizeof(step[0]); i++) {
		if (step[i](g, err) < 0)
			return -1;
		if (stopped)
			return errprintf(err, "stopped by a signal");
	}
	return 0;
}

static void bundle_tool_tell(const char *output, enum who who, const struct bundle_sum *sum)
{
	printf("%s: %lld bytes, %u files\n", output, sum->bytes, sum->held);
	printf("It holds %s; MANIFEST in it lists all.\n",
	       who == ROOT ? "what nodeosctl tells of this node, the ledger, cgroups, topology, "
			     "kernel, Slurm's configuration and logs"
			   : "your own containers, what this node can do, and versions (root "
			     "gathers more)");
	if (sum->missing)
		printf("Not to be had:\n%s", sum->missing_lines);
	printf("Passwords, keys, secrets and tokens are masked; environments and commands of jobs "
	       "are left out.\n"
	       "Look through it before you send it: tar -xzf %s\n",
	       output);
}

/* Own words of OPTION and ID; -1 to go on, or the exit status. */
static int take_options(int argc, char **argv, const char **output, unsigned long *job)
{
	static const struct option longs[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "job", required_argument, NULL, 'J' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	char *end;
	int c;

	optind = 1;
	while ((c = tool_getopt(argc, argv, "o:h", longs)) != -1) {
		if (c == 'o') {
			*output = optarg;
		} else if (c == 'J') {
			*job = strtoul(optarg, &end, 10);
			if (*optarg < '0' || *optarg > '9' || *job == 0 || *end)
				return tool_error(
					2,
					"support-bundle: --job=%.40s: expected the number of a job",
					optarg);
		} else {
			return tool_help(c, argv[0], usage_text);
		}
	}
	if (optind < argc)
		return tool_wrong(argv[0], "unexpected argument \"%.100s\"", argv[optind]);
	if (*output && !**output)
		return tool_error(2, "support-bundle: --output: expected the name of a file");
	return -1;
}

int tool_support_bundle(int argc, char **argv)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction on_stop = { .sa_handler = stop };
	struct gathering g = { .who = geteuid() == 0 ? ROOT : USER };
	char node[256] = "", time_text[32], name[BUNDLE_NAME_MAX], file[BUNDLE_NAME_MAX + 8];
	const char *output = NULL, *tmp = getenv("TMPDIR");
	struct errbuf err = { 0 };
	struct bundle_sum sum;
	time_t now = time(NULL);
	ssize_t len;
	int status = take_options(argc, argv, &output, &g.job);

	if (status >= 0)
		return status;
	gethostname(node, sizeof(node) - 1);
	strftime(time_text, sizeof(time_text), "%Y%m%d-%H%M%S", localtime(&now));
	snprintf(name, sizeof(name), "nodeos-support-%.64s-%s", node, time_text);
	snprintf(file, sizeof(file), "%s.tar.gz", name);
	output = output ? output : file;
	len = readlink("/proc/self/exe", g.self, sizeof(g.self) - 1);
	if (len < 0)
		return tool_error(1, "support-bundle: /proc/self/exe: %s", strerror(errno));
	g.self[len] = '\0';
	/* a broken file is told by features --site */
	if (conf_load(&g.conf, NODEOS_CONF_PATH, 0, &err) < 0)
		conf_defaults(&g.conf);
	setenv("LC_ALL", "C", 1); /* of what others print, too */
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &on_stop, NULL);
	errclear(&err);
	if (bundle_begin(&g.b, output, tmp && *tmp == '/' ? tmp : "/tmp", name, &err) < 0)
		return tool_error(1, "support-bundle: %s", err.text);
	status = gather(&g, &err) < 0 || bundle_end(g.b, about_text, &sum, &err) < 0 ? 1 : 0;
	if (status)
		tool_error(1, "support-bundle: %s", err.text);
	else
		bundle_tool_tell(output, g.who, &sum);
	bundle_free(g.b);
	return status;
}
