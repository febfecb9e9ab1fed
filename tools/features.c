/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <json-c/json.h>
#include <numa.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/json_out.h"
#include "config.h"
#include "container/container_json.h"
#include "control/protocol.h"
#include "host/buffer.h"
#include "host/built_for.h"
#include "host/cgroup.h"
#include "host/conf.h"
#include "host/contention_message.h"
#include "host/isolcpus.h"
#include "host/policy.h"
#include "host/slurm_conf.h"
#include "hugepages/guest_needs.h"
#include "hugepages/lwk_facts.h"
#include "jobplan/planner.h"
#include "report/blocks_text.h"
#include "serviceos/checklist.h"
#include "tools/tool.h"

static const char usage_text[] =
	"Usage: nodeosctl features [--json] [--site] [--noise]\n"
	"Show what this build and this kernel can do. With --site also check that this node's "
	"kernel and\n"
	"Slurm configuration fit NodeOS, and print each problem with its remedy.\n"
	"\n"
	"  -j, --json  print JSON (schema 1)\n"
	"  -s, --site  check the site\n"
	"  -n, --noise print what takes time from ranks on this node, and how to change it\n"
	"  -h, --help  print this\n"
	"\n"
	"Exit status: 0, or 3 when --site finds a problem.\n";

/* Problems of the site, in the order in which they were found. They are printed after the facts. */
struct findings {
	struct json_out *j; /* NULL: text */
	unsigned n;
	char text[32][640]; /* each has room for an errbuf's text and a prefix */
};

static void features_found(struct findings *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void features_found(struct findings *f, const char *fmt, ...)
{
	va_list ap;

	if (f->n == sizeof(f->text) / sizeof(f->text[0]))
		return;
	va_start(ap, fmt);
	vsnprintf(f->text[f->n++], sizeof(f->text[0]), fmt, ap);
	va_end(ap);
}

static void print_fact(struct findings *f, const char *key, const char *value)
{
	if (f->j)
		jout_string(f->j, key, value);
	else
		printf("%-20s %s\n", key, *value ? value : "none");
}

/* Write to BUF the Slurm series of the installed plugin, as "24.11", or "" without a plugin. */
static void plugin_series(char *buf, size_t size)
{
	/* read the file: the plugin can be loaded by Slurm only (linked with -z now) */
	int fd = open(NODEOS_PLUGIN_PATH, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *so = MAP_FAILED;

	buf[0] = '\0';
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0)
		so = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (so != MAP_FAILED) {
		const char *end = (const char *)so + st.st_size;
		const char *at =
			memmem(so, (size_t)st.st_size, NODEOS_BUILT_FOR, strlen(NODEOS_BUILT_FOR));
		char number[16] = "";
		unsigned version;

		at = at ? at + strlen(NODEOS_BUILT_FOR) : end;
		memcpy(number, at,
		       (size_t)(end - at) < sizeof(number) - 1 ? (size_t)(end - at)
							       : sizeof(number) - 1);
		version = (unsigned)strtoul(number, NULL, 0);
		if (version)
			snprintf(buf, size, "%u.%02u", version >> 16, version >> 8 & 255);
		munmap(so, (size_t)st.st_size);
	}
	if (fd >= 0)
		close(fd);
}

/* Write to BUF the features of newer Slurm releases that this release lacks. */
static void slurm_lacks(const char *series, char *buf, size_t size)
{
	static const struct {
		unsigned year, month; /* the first series of Slurm with the feature */
		const char *name;
	} since[] = {
		{ 23, 2, "EnableControllers" },
		{ 24, 11, "--external-launcher" },
	};
	unsigned year = 0, month = 0;
	char pmix[sizeof(NODEOS_PLUGIN_PATH) + 16];

	buf[0] = '\0';
	if (sscanf(series, "%u.%u", &year, &month) != 2)
		return;
	for (size_t i = 0; i < sizeof(since) / sizeof(since[0]); i++)
		if (year < since[i].year || (year == since[i].year && month < since[i].month))
			snprintf(buf + strlen(buf), size - strlen(buf), "%s%s", *buf ? "," : "",
				 since[i].name);
	snprintf(pmix, sizeof(pmix), "%.*s/mpi_pmix.so",
		 (int)(strrchr(NODEOS_PLUGIN_PATH, '/') - NODEOS_PLUGIN_PATH), NODEOS_PLUGIN_PATH);
	if (access(pmix, F_OK) < 0)
		snprintf(buf + strlen(buf), size - strlen(buf), "%s%s", *buf ? "," : "",
			 "mpi/pmix");
}

static void kernel_facts(struct findings *f)
{
	struct utsname u;
	struct errbuf err;
	char text[4608], series[16], list[128];
	struct idset isolated;
	int fd;

	print_fact(f, "version", VERSION);
	print_fact(f, "slurm-headers", NODEOS_SLURM_SERIES);
	plugin_series(series, sizeof(series));
	print_fact(f, "plugin", *series ? NODEOS_PLUGIN_PATH : "not installed");
	print_fact(f, "plugin-series", series);
	slurm_lacks(series, text, sizeof(text));
	print_fact(f, "slurm-lacks", text);
	snprintf(text, sizeof(text), "%u.%u.%u", hwloc_get_api_version() >> 16,
		 hwloc_get_api_version() >> 8 & 255, hwloc_get_api_version() & 255);
	print_fact(f, "hwloc-api", text);
	print_fact(f, "json-c", json_c_version());
	uname(&u);
	print_fact(f, "kernel", u.release);
	isolcpus_read("", &isolated);
	print_fact(f, "isolated-cpus", idset_brief(list, &isolated));
	snprintf(text, sizeof(text), "%d", numa_available() < 0 ? 1 : numa_num_configured_nodes());
	print_fact(f, "memory-nodes", text);
	planner_describe_memory(text, sizeof(text));
	print_fact(f, "memory-kinds", text);
	blocks_describe(text, sizeof(text));
	print_fact(f, "memory-blocks", text);
	print_fact(f, "lwk", lwk_facts(text, sizeof(text), ""));
	print_fact(f, "guest", guest_needs_check(&err) == 0 ? "qemu, virtiofsd" : err.text);
	fd = cgroup_open_root(NULL, &err);
	if (fd < 0 || cgroup_read(fd, ".", "cgroup.controllers", text, sizeof(text), &err) < 0)
		strcpy(text, "none");
	print_fact(f, "cgroup-controllers", text);
	print_fact(f, "partitions",
		   fd >= 0 && faccessat(fd, "cpuset.cpus.isolated", F_OK, 0) == 0
			   ? "member,root,isolated"
			   : "member");
	if (fd >= 0)
		close(fd);
	text[0] = '\0';
	for (unsigned p = POLICY_OTHER; p < POLICY_COUNT; p++)
		if (policy_supported(p))
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
				 *text ? "," : "", policy_name(p));
	print_fact(f, "policies", text);
	print_fact(
		f, "dimmap",
		buffer_supported()
			? "yes"
			: "none: this kernel has no dimmapfs: see INSTALLING in nodeos-spank(8)");
}

static const struct wanted {
	const char *key, *part, *mend;
} wanted[] = {
	{ "ProctrackType", "proctrack/cgroup", "ProctrackType=proctrack/cgroup in slurm.conf" },
	{ "TaskPlugin", "task/cgroup",
	  "TaskPlugin=task/affinity,task/cgroup (or task/cgroup alone) in slurm.conf" },
	{ "PrologFlags", "Contain",
	  "PrologFlags=Contain in slurm.conf (without it Slurm removes the job's cgroup between "
	  "the steps of a salloc)" },
	{ "ConstrainCores", "yes", "ConstrainCores=yes in cgroup.conf" },
};

/* Check that buffers have a memory limit: a launch refuses other buffers (dimmap_possible()). */
static void check_limits(struct findings *f, const char *config)
{
	struct errbuf ignored = { 0 };
	struct conf conf;
	char value[256];

	if (conf_load(&conf, NODEOS_CONF_PATH, 0, &ignored) < 0 ||
	    (!*conf.dimmap_devices && !conf.dimmap_files) || conf.dimmap_max)
		return;
	slurm_value(config, "ConstrainRAMSpace", value, sizeof(value));
	if (strcasecmp(value, "yes") != 0)
		features_found(f,
			       "nothing limits the memory of buffers, so they are refused: set "
			       "ConstrainRAMSpace=yes in cgroup.conf, or dimmap_max in %s",
			       NODEOS_CONF_PATH);
}

static void features_check_slurm(struct findings *f, const char *config)
{
	char value[256], series[16];

	check_limits(f, config);

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		slurm_value(config, wanted[i].key, value, sizeof(value));
		if (!strcasestr(value, wanted[i].part))
			features_found(f, "%s is \"%s\": set %s", wanted[i].key, value,
				       wanted[i].mend);
	}
	slurm_value(config, "CgroupPlugin", value, sizeof(value));
	if (*value && !strstr(value, "v2") && !strstr(value, "autodetect"))
		features_found(f,
			       "CgroupPlugin is \"%s\": set CgroupPlugin=cgroup/v2 in cgroup.conf",
			       value);
	slurm_value(config, "SLURM_VERSION", value, sizeof(value));
	print_fact(f, "slurm", value);
	plugin_series(series, sizeof(series));
	if (!*series)
		features_found(f,
			       "the plugin %s is missing, or belongs to another version of NodeOS",
			       NODEOS_PLUGIN_PATH);
	else if (strncmp(value, series, strlen(series)) != 0 || value[strlen(series)] != '.')
		features_found(
			f,
			"the plugin was built for Slurm %s, but this is Slurm %s: build it again "
			"with the headers of this series",
			series, value);
}

/*
 * Check that no partition makes jobs share CPUs: a launch refuses policy hpc on CPUs of another job
 * (partitions_check_jobs()).
 */
static void check_sharing(struct findings *f)
{
	static const char start[] = "PartitionName=", forced[] = "OverSubscribe=FORCE";
	struct errbuf ignored = { 0 };
	char *text = policy_supported(POLICY_HPC) ? slurm_show("partition", NULL, &ignored) : NULL;
	char *next;

	for (char *at = text ? strstr(text, start) : NULL; at; at = next) {
		const char *how;

		next = strstr(at + 1, start);
		if (next)
			next[-1] = '\0';
		how = strstr(at, forced);
		/* FORCE without a number means FORCE:4 (slurm.conf(5)) */
		if (how &&
		    (how[strlen(forced)] != ':' || strtoul(how + strlen(forced) + 1, NULL, 10) > 1))
			features_found(
				f,
				"partition %.*s has %.*s: jobs with policy hpc are refused on CPUs "
				"of other jobs; set OverSubscribe=NO, or FORCE:1",
				(int)strcspn(at + strlen(start), " \n"), at + strlen(start),
				(int)strcspn(how, " \n"), how);
	}
	free(text);
}

/* Check that users cannot read the helpers: users may trace a readable program that they run. */
static void check_helpers(struct findings *f)
{
	static const char *const helper[] = { NODEOS_LIBEXECDIR "/nodeos-plan",
					      NODEOS_LIBEXECDIR "/nodeos-script" };
	struct stat st;

	for (size_t i = 0; i < sizeof(helper) / sizeof(helper[0]); i++)
		if (stat(helper[i], &st) < 0)
			features_found(f, "%s: %s: install it again", helper[i], strerror(errno));
		else if (st.st_uid != 0 || (st.st_mode & 07777) != 0711)
			features_found(
				f,
				"%s has owner %u and mode %04o, so users can trace it: chown "
				"root, chmod 0711",
				helper[i], (unsigned)st.st_uid, (unsigned)st.st_mode & 07777);
}

/* Check the kernel's version: helpers are started with close_range(2), new in Linux 5.9. */
static void check_kernel(struct findings *f)
{
	unsigned major = 0, minor = 0;
	struct utsname u;

	uname(&u);
	if (sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	    (major < 5 || (major == 5 && minor < 9)))
		features_found(f, "the kernel is %s, but NodeOS needs 5.9 or later", u.release);
}

static void check_isolcpus(struct findings *f)
{
	struct idset isolated;
	char list[128];

	isolcpus_read("", &isolated);
	if (!idset_empty(&isolated))
		features_found(f, "CPUs %s are " ISOLCPUS_MEANS, idset_brief(list, &isolated));
}

static void check_site(struct findings *f)
{
	struct errbuf err = { 0 };
	char controllers[512];
	struct conf conf;
	char *config;
	int fd = cgroup_open_root(NULL, &err);

	check_kernel(f);
	check_isolcpus(f);
	if (fd < 0)
		features_found(f, "%s", err.text);
	else if (cgroup_read(fd, ".", "cgroup.controllers", controllers, sizeof(controllers),
			     &err) < 0 ||
		 !strstr(controllers, "cpuset"))
		features_found(
			f, "the cgroup v2 root offers no cpuset controller (is cgroup v1 mounted "
			   "beside it?): boot with systemd.unified_cgroup_hierarchy=1");
	if (fd >= 0)
		close(fd);
	if (conf_load(&conf, NODEOS_CONF_PATH, 0, &err) < 0)
		features_found(f, "%s", err.text);
	else if ((*conf.dimmap_devices || conf.dimmap_files) && !buffer_supported())
		features_found(f,
			       "%s allows buffers of dimmapfs, but this kernel has no dimmapfs: "
			       "install the module, see INSTALLING in nodeos-spank(8) (or remove "
			       "dimmap_devices and dimmap_files)",
			       NODEOS_CONF_PATH);
	check_helpers(f);
	errclear(&err);
	config = slurm_show("config", NULL, &err);
	if (config)
		features_check_slurm(f, config);
	else
		features_found(f, "%s", err.text);
	free(config);
	check_sharing(f);
	print_fact(f, "nodeosd",
		   nodeosd_listens() ? "listens"
				     : "does not listen: systemctl enable --now nodeosd.socket");
	print_fact(f, "nodeos-contend",
		   contention_is_running(CONTENTION_SOCKET)
			   ? "runs"
			   : "does not run: systemctl enable --now nodeos-contend.service");
}

int tool_features(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "site", no_argument, NULL, 's' },
		{ "noise", no_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct json_out j = { .f = stdout };
	static struct findings f;
	struct errbuf err = { 0 };
	int c, site = 0, noise = 0;

	optind = 1;
	while ((c = tool_getopt(argc, argv, "jsnh", longs)) != -1) {
		site = site || c == 's';
		noise = noise || c == 'n';
		if (c == 'j')
			f.j = &j;
		else if (c != 's' && c != 'n')
			return tool_help(c, argv[0], usage_text);
	}
	if (optind != argc)
		return tool_wrong(argv[0], "unexpected argument \"%.100s\"", argv[optind]);
	if (f.j) {
		jout_open(&j, NULL, '{');
		jout_number(&j, "schema", REPORT_SCHEMA);
	}
	if (!noise)
		kernel_facts(&f);
	else if (checklist_print(f.j, NODEOS_CONF_PATH, &err) < 0)
		return tool_error(1, "features: %s", err.text);
	if (site)
		check_site(&f);
	if (f.j && site) {
		jout_open(&j, "problems", '[');
		for (unsigned i = 0; i < f.n; i++)
			jout_string(&j, NULL, f.text[i]);
		jout_close(&j, ']');
	}
	if (f.j)
		jout_close(&j, '}');
	for (unsigned i = 0; i < f.n; i++)
		tool_error(0, "features: %s", f.text[i]);
	if (site && !f.n && !f.j)
		puts("site                 fits");
	return f.n ? 3 : 0;
}
