/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "host/cpu_domains.h"

#include <string.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

#define CPU "sys/devices/system/cpu/"
#define NODE "sys/devices/system/node/"

static void put(const char *path, const char *text)
{
	char dir[300];

	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path), path);
	scratch_dir(dir);
	scratch_file(path, text);
}

static void put_cpu(unsigned cpu, const char *level, const char *shared, const char *package)
{
	char path[128];

	snprintf(path, sizeof(path), CPU "cpu%u/cache/index0/level", cpu);
	put(path, "1\n");
	snprintf(path, sizeof(path), CPU "cpu%u/cache/index1/level", cpu);
	put(path, level);
	snprintf(path, sizeof(path), CPU "cpu%u/cache/index1/shared_cpu_list", cpu);
	put(path, shared);
	snprintf(path, sizeof(path), CPU "cpu%u/topology/package_cpus_list", cpu);
	put(path, package);
}

/* The domains of CPUS as "LIST LIST ..." */
static const char *domains_text(const char *list)
{
	static char out[512];
	struct idset cpus = set_of(list), *set = NULL;
	unsigned n = 0;
	int at = 0;

	*out = '\0';
	if (cpu_domains_read(&set, &n, scratch, &cpus, NULL) < 0)
		return "failed";
	for (unsigned i = 0; i < n; i++)
		at += snprintf(out + at, sizeof(out) - (size_t)at, "%s%s", i ? " " : "",
			       list_of(&set[i]));
	free(set);
	return out;
}

int main(void)
{
	scratch_make();
	is(domains_text("0-7"), "", "cpu_domains_read: a host without /sys has no domains");
	for (unsigned cpu = 0; cpu < 8; cpu++)
		put_cpu(cpu, cpu < 6 ? "3\n" : "2\n",
			cpu < 2	  ? "0-1\n"
			: cpu < 4 ? "2-3\n"
				  : "4-5\n",
			cpu < 4 ? "0-3\n" : "4-7\n");
	put(NODE "has_cpu", "0-2\n");
	put(NODE "node0/cpulist", "0-3\n");
	put(NODE "node1/cpulist", "4-7\n");
	put(NODE "node2/cpulist", "damaged\n");
	is(domains_text("0-7"), "0-3 4-7 0-3 4-7 0-1 2-3 4-5",
	   "cpu_domains_read: lists packages, memory nodes and L3 caches, but no cache of level 2 "
	   "and no damaged list");
	is(domains_text("3"), "0-3 0-3 2-3",
	   "cpu_domains_read: lists only domains of the given CPUs");
	return tap_done();
}
