/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "limits/io_limit.h"
#include "limits/memory_limit.h"
#include "limits/mempolicy.h"
#include "limits/thp.h"

#define SCOPE "system.slice/slurmstepd.scope"
#define USER SCOPE "/job_1/step_0/user"

static int root;

static const char *text_of(const char *path)
{
	static char text[256];
	char full[512];
	FILE *f;
	size_t n;

	snprintf(full, sizeof(full), "%s/%s", scratch, path);
	f = fopen(full, "r");
	n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	text[n] = '\0';
	if (f)
		fclose(f);
	return text;
}

static void test_memory(void)
{
	struct errbuf err = { 0 };
	uint64_t now = 1;

	scratch_file(USER "/memory.max", "max\n");
	is_int(memory_limit_read(&now, root, USER), 0, "memory_limit_read: reads \"max\"");
	ok(now == UINT64_MAX, "memory_limit_read: \"max\" is no limit");
	is_int(memory_limit_lower(root, USER, 1000000, &err), 0,
	       "memory_limit_lower: sets a limit where none is: %s", err.text);
	is(text_of(USER "/memory.max"), "1000000", "memory_limit_lower: writes the bytes");
	memory_limit_lower(root, USER, 2000000, &err);
	is(text_of(USER "/memory.max"), "1000000", "memory_limit_lower: leaves a lower limit");
	memory_limit_lower(root, USER, 1000000, &err);
	is(text_of(USER "/memory.max"), "1000000", "memory_limit_lower: leaves an equal limit");
	is_int(memory_limit_set(root, USER, 3000000, &err), 0,
	       "memory_limit_set: raises a limit: %s", err.text);
	is(text_of(USER "/memory.max"), "3000000", "memory_limit_set: writes the higher limit");
	is_int(memory_limit_read(&now, root, SCOPE "/job_1"), -1,
	       "memory_limit_read: fails without the memory controller");
	is_int(memory_limit_lower(root, SCOPE "/job_1", 1, &err), 0,
	       "memory_limit_lower: changes nothing without the memory controller");
}

static void test_enable(void)
{
	static const char *const above[] = { "/", "/job_1/", "/job_1/step_0/" };
	struct errbuf err = { 0 };
	char path[512];

	scratch_file("cgroup.controllers", "cpuset cpu io memory\n");
	is_int(io_limit_has_controller(root, "io"), 1, "io_limit_has_controller: finds a name");
	is_int(io_limit_has_controller(root, "cpu"), 1,
	       "io_limit_has_controller: finds a name that begins another one");
	is_int(io_limit_has_controller(root, "mem"), 0,
	       "io_limit_has_controller: finds no part of a name");
	scratch_file(SCOPE "/cgroup.controllers", "cpuset memory\n");
	is_int(io_limit_enable(root, SCOPE, USER, &err), -1,
	       "io_limit_enable: fails where the controller is not delegated");
	ok(strstr(err.text, SCOPE " has no io controller"),
	   "io_limit_enable: the message names the cgroup without the controller: %s", err.text);
	scratch_file(SCOPE "/cgroup.controllers", "cpuset io memory\n");
	is_int(io_limit_enable(root, USER, SCOPE, &err), -1,
	       "io_limit_enable: refuses a directory above the first one");
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), SCOPE "%scgroup.subtree_control", above[i]);
		scratch_file(path, i == 1 ? "io memory\n" : "");
	}
	is_int(io_limit_enable(root, SCOPE, USER, &err), 0,
	       "io_limit_enable: turns the controller on: %s", err.text);
	is(text_of(SCOPE "/cgroup.subtree_control"), "+io",
	   "io_limit_enable: writes to the first directory");
	is(text_of(SCOPE "/job_1/cgroup.subtree_control"), "io memory\n",
	   "io_limit_enable: writes nothing where the controller is on");
	is(text_of(SCOPE "/job_1/step_0/cgroup.subtree_control"), "+io",
	   "io_limit_enable: writes to the last directory above the limited one");
	snprintf(path, sizeof(path), "%s/" USER "/cgroup.subtree_control", scratch);
	ok(access(path, F_OK) < 0, "io_limit_enable: writes nothing in the limited directory");
}

static void test_devices(void)
{
	const struct io_limit both = { 1000000, 50 }, one = { 0, 7 };
	struct errbuf err = { 0 };

	scratch_dir("sys/block/vda");
	scratch_dir("sys/block/loop0");
	scratch_dir("sys/block/hidden");
	scratch_file("sys/block/vda/dev", "254:0\n");
	scratch_file("sys/block/vda/size", "2048\n");
	scratch_file("sys/block/loop0/dev", "7:0\n");
	scratch_file("sys/block/loop0/size", "0\n");
	scratch_file("sys/block/hidden/size", "1\n");
	scratch_file(USER "/io.max", "");
	is_int(io_limit_set(root, USER, scratch, &both, &err), 1,
	       "io_limit_set: limits the device with a size and a number: %s", err.text);
	is(text_of(USER "/io.max"), "254:0 rbps=1000000 wbps=1000000 riops=50 wiops=50",
	   "io_limit_set: writes both limits, for reads and for writes");
	scratch_file(USER "/io.max", "");
	is_int(io_limit_set(root, USER, scratch, &one, &err), 1,
	       "io_limit_set: accepts one limit alone");
	is(text_of(USER "/io.max"), "254:0 riops=7 wiops=7",
	   "io_limit_set: leaves a limit that is 0 as it is");
	is_int(io_limit_set(root, SCOPE, scratch, &one, &err), -1,
	       "io_limit_set: fails without the controller");
	is_int(io_limit_set(root, USER, "/nonexistent", &one, &err), -1,
	       "io_limit_set: fails without /sys");
}

static void test_thp(void)
{
	struct errbuf err = { 0 };
	char setting[16];

	is_int(thp_disable(true, &err), 0, "thp_disable: forbids huge pages: %s", err.text);
	is_int(thp_is_disabled(), 1, "thp_is_disabled: true while huge pages are forbidden");
	is_int(thp_disable(false, &err), 0, "thp_disable: allows huge pages: %s", err.text);
	is_int(thp_is_disabled(), 0, "thp_is_disabled: false after huge pages are allowed");
	thp_host_setting(setting, sizeof(setting), "/nonexistent");
	is(setting, "", "thp_host_setting: empty on a kernel without huge pages");
	scratch_dir("sys/kernel/mm/transparent_hugepage");
	scratch_file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
	thp_host_setting(setting, sizeof(setting), scratch);
	is(setting, "madvise", "thp_host_setting: gives the word in brackets");
}

static void test_mempolicy(void)
{
	const struct idset pair = set_of("0,2"), nodes = set_of("0-2");
	struct errbuf err = { 0 };

	for (int i = 0; i < 3; i++) {
		static const char *const bandwidth[] = { "50000\n", "0\n", "200000\n" };
		char path[128];

		snprintf(path, sizeof(path), "sys/devices/system/node/node%d/access0/initiators",
			 i);
		scratch_dir(path);
		snprintf(path, sizeof(path),
			 "sys/devices/system/node/node%d/access0/initiators/read_bandwidth", i);
		scratch_file(path, bandwidth[i]);
		scratch_dir("sys/kernel/mm/mempolicy/weighted_interleave");
		snprintf(path, sizeof(path), "sys/kernel/mm/mempolicy/weighted_interleave/node%d",
			 i);
		scratch_file(path, "");
	}
	is_int(mempolicy_weigh(&nodes, scratch, &err), 0,
	       "mempolicy_weigh: sets no weight if a bandwidth is unknown");
	is(text_of("sys/kernel/mm/mempolicy/weighted_interleave/node2"), "",
	   "mempolicy_weigh: writes nothing if a bandwidth is unknown");
	is_int(mempolicy_weigh(&pair, scratch, &err), 2, "mempolicy_weigh: weighs two nodes: %s",
	       err.text);
	is(text_of("sys/kernel/mm/mempolicy/weighted_interleave/node0"), "1\n",
	   "mempolicy_weigh: the slower node has weight 1");
	is(text_of("sys/kernel/mm/mempolicy/weighted_interleave/node2"), "4\n",
	   "mempolicy_weigh: the node of four times its bandwidth has weight 4");
	scratch_file("sys/devices/system/node/node0/access0/initiators/read_bandwidth", "1000\n");
	is_int(mempolicy_weigh(&pair, scratch, &err), 2, "mempolicy_weigh: weighs a ratio of 200");
	is(text_of("sys/kernel/mm/mempolicy/weighted_interleave/node2"), "32\n",
	   "mempolicy_weigh: no weight is above 32");
	scratch_file("sys/kernel/mm/mempolicy/weighted_interleave/auto", "true\n");
	is_int(mempolicy_weigh(&pair, scratch, &err), 0,
	       "mempolicy_weigh: leaves weights that the kernel sets itself");
	is_int(mempolicy_number(MEMS_BIND), 2, "mempolicy_number: MPOL_BIND");
	is_int(mempolicy_number(MEMS_WEIGHTED_INTERLEAVE), 6,
	       "mempolicy_number: MPOL_WEIGHTED_INTERLEAVE");
}

int main(void)
{
	scratch_make();
	scratch_dir(USER);
	root = open(scratch, O_PATH | O_DIRECTORY);
	test_memory();
	test_enable();
	test_devices();
	test_thp();
	test_mempolicy();
	return tap_done();
}
