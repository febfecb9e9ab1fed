/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Check the domains of trees made by hand. Compare the domains of this host, and of the recorded
 * machines in the folder NODEOS_TOPOLOGIES, with hwloc's.
 */
#include "contention/domains.h"

#include <dirent.h>
#include <fcntl.h>
#include <hwloc.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

#define CPU "sys/devices/system/cpu/"
#define NODE "sys/devices/system/node/"

/* The current tree: "tN" below the scratch directory. */
static char tree[16];

static void begin_tree(const char *online)
{
	static unsigned number;
	char path[128];

	snprintf(tree, sizeof(tree), "t%u", number++);
	snprintf(path, sizeof(path), "%s/" CPU, tree);
	scratch_dir(path);
	snprintf(path, sizeof(path), "%s/" NODE, tree);
	scratch_dir(path);
	snprintf(path, sizeof(path), "%s/" CPU "online", tree);
	scratch_file(path, online);
}

static void __attribute__((format(printf, 2, 3)))
write_file(const char *text, const char *name, ...)
{
	char path[300], dir[300];
	va_list ap;
	int n = snprintf(path, sizeof(path), "%s/", tree);

	va_start(ap, name);
	vsnprintf(path + n, sizeof(path) - (size_t)n, name, ap);
	va_end(ap);
	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path), path);
	scratch_dir(dir);
	scratch_file(path, text);
}

static void write_cache(unsigned cpu, unsigned index, const char *level, const char *type,
			const char *shared)
{
	write_file(level, CPU "cpu%u/cache/index%u/level", cpu, index);
	write_file(type, CPU "cpu%u/cache/index%u/type", cpu, index);
	write_file(shared, CPU "cpu%u/cache/index%u/shared_cpu_list", cpu, index);
}

/* Read the tree. Returns its domains as "ID:CPUS@MEMS ID:...". */
static const char *list_domains(struct observed_node *node)
{
	static char out[4096];
	struct errbuf err;
	char path[128];
	int n = 0, fd;

	memset(node, 0, sizeof(*node));
	snprintf(path, sizeof(path), "%s/%s/sys", scratch, tree);
	fd = open(path, O_RDONLY | O_DIRECTORY);
	*out = '\0';
	if (domains_read(node, fd, &err) < 0)
		snprintf(out, sizeof(out), "%s", err.text);
	for (unsigned i = 0; i < node->n_domains; i++)
		n += snprintf(out + n, sizeof(out) - (size_t)n, "%s%d:%s@%s", i ? " " : "",
			      node->domain[i].id, list_of(&node->domain[i].cpus),
			      list_of(&node->domain[i].mems));
	close(fd);
	return out;
}

/* Return the bytes of each domain's cache in the tree, separated by blanks. */
static const char *cache_sizes(const struct observed_node *node)
{
	static char out[256];
	char path[128];
	int n = 0, fd;

	snprintf(path, sizeof(path), "%s/%s/sys", scratch, tree);
	fd = open(path, O_RDONLY | O_DIRECTORY);
	*out = '\0';
	for (unsigned i = 0; i < node->n_domains; i++)
		n += snprintf(out + n, sizeof(out) - (size_t)n, "%s%llu", i ? " " : "",
			      (unsigned long long)domains_cache_bytes(fd, &node->domain[i]));
	close(fd);
	return out;
}

/* Two packages have CPUs that are numbered in turn; CPU 7, on the second one, is offline. */
static void test_two_sockets(void)
{
	struct observed_node node;
	struct idset cpus;

	begin_tree("0-6\n");
	for (unsigned i = 0; i < 7; i++) {
		const char *shared = i % 2 ? "1,3,5,7\n" : "0,2,4,6\n";

		write_cache(i, 0, "1\n", "Data\n", i % 4 < 2 ? "0,4\n" : "2,6\n");
		write_cache(i, 1, "3\n", "Unified\n", shared);
		write_cache(i, 2, "2\n", "Unified\n", "0-6\n");
		write_cache(i, 3, "4\n", "Instruction\n", "0-6\n");
		write_file(i % 2 ? "4\n" : "9\n", CPU "cpu%u/cache/index1/id", i);
		write_file("1280K\n", CPU "cpu%u/cache/index2/size", i);
	}
	write_file("36864K\n", CPU "cpu0/cache/index1/size");
	write_file("-1K\n", CPU "cpu1/cache/index1/size");
	write_file("0-2\n", NODE "online");
	write_file("0,2\n", NODE "has_memory");
	write_file("0,2,4,6\n", NODE "node0/cpulist");
	write_file("\n", NODE "node1/cpulist");
	write_file("1,3,5,7\n", NODE "node2/cpulist");
	is(list_domains(&node), "9:0,2,4,6@0 4:1,3,5@2",
	   "domains_read: CPUs that share a data or unified cache of the highest level are a "
	   "domain, with their memory nodes that have memory");
	is(cache_sizes(&node), "37748736 0",
	   "domains_cache_bytes: gives the cache's size, and 0 for a damaged file");
	cpus = set_of("1,5");
	is_int(domains_of(&node, &cpus), 1, "domains_of: finds the domain of CPUs in one domain");
	cpus = set_of("0-6");
	is_int(domains_of(&node, &cpus), OBSERVED_NO_DOMAIN,
	       "domains_of: finds no domain for CPUs in two domains");
	cpus = set_of("5,7");
	is_int(domains_of(&node, &cpus), OBSERVED_NO_DOMAIN,
	       "domains_of: finds no domain if a CPU is offline");
	cpus = set_of("");
	is_int(domains_of(&node, &cpus), OBSERVED_NO_DOMAIN,
	       "domains_of: finds no domain for an empty set of CPUs");
	observed_free(&node);
}

/* Node 0 is divided; nodes 2 and 3 are its blocks, without CPUs. Node 4 is HBM beside node 1. */
static void test_blocks(void)
{
	struct observed_node node;

	begin_tree("0-3\n");
	for (unsigned i = 0; i < 4; i++)
		write_cache(i, 0, "3\n", "Unified\n", i < 2 ? "0-1\n" : "2-3\n");
	write_file("0-4\n", NODE "online");
	write_file("0-4\n", NODE "has_memory");
	for (unsigned i = 0; i < 4; i++)
		write_file(i == 1 ? "1\n" : "0\n", NODE "node%u/physical_node", i);
	write_file("0-1\n", NODE "node0/cpulist");
	write_file("2-3\n", NODE "node1/cpulist");
	for (unsigned i = 2; i < 5; i++)
		write_file("\n", NODE "node%u/cpulist", i);
	is(list_domains(&node), "0:0-1@0,2-3 2:2-3@1",
	   "domains_read: blocks of a divided memory node belong to its domain");
	observed_free(&node);
}

static void test_without_caches(void)
{
	struct observed_node node;

	begin_tree("0-7\n");
	for (unsigned i = 0; i < 2; i++) /* a cache of two CPUs, without a number */
		write_cache(i, 0, "2\n", "Unified\n", "0-1\n");
	write_cache(2, 0, "1\n", "Data\n", "2\n"); /* a cache of level 1 makes no domain */
	for (unsigned i = 0; i < 6; i++)
		write_file(i < 4 ? "1\n" : "0\n", CPU "cpu%u/topology/physical_package_id", i);
	write_file("-1\n", CPU "cpu6/topology/physical_package_id");
	write_file("0,3\n", NODE "online");
	write_file("0-5\n", NODE "node0/cpulist");
	write_file("6\n", NODE "node3/cpulist");
	is(list_domains(&node), "0:0-1@0 1:2-3@0 0:4-5@0 3:6@3 0:7@",
	   "domains_read: CPUs without a cache form domains by package, by memory node, or of the "
	   "rest");
	is(cache_sizes(&node), "0 0 0 0 0",
	   "domains_cache_bytes: 0 for a cache without a size, and for a domain without a cache");
	observed_free(&node);

	begin_tree("0-3\n");
	is(list_domains(&node), "0:0-3@",
	   "domains_read: a host of which only the CPUs are known is one domain");
	observed_free(&node);
	begin_tree("rubbish\n");
	is(list_domains(&node), "/sys/devices/system/cpu/online has no list of CPUs",
	   "domains_read: fails without a list of CPUs");
	ok(!node.domain, "domains_read: leaves no domain after an error");
	begin_tree("0-3\n");
	/* half of the lists lack the CPU itself, and the others are no lists */
	for (unsigned i = 0; i < 4; i++)
		write_cache(i, 0, "3\n", "Unified\n", i % 2 ? "9-8\n" : "7\n");
	is(list_domains(&node), "0:0-3@", "domains_read: ignores caches with damaged lists");
	observed_free(&node);
}

static const char *list_quiet(void)
{
	char path[128];
	struct idset cpus;
	int sys, cgroup;

	snprintf(path, sizeof(path), "%s/%s/sys", scratch, tree);
	sys = open(path, O_RDONLY | O_DIRECTORY);
	snprintf(path, sizeof(path), "%s/%s", scratch, tree);
	cgroup = open(path, O_RDONLY | O_DIRECTORY);
	domains_quiet_cpus(&cpus, sys, cgroup);
	close(sys);
	close(cgroup);
	return list_of(&cpus);
}

static void test_quiet_cpus(void)
{
	begin_tree("0-7\n");
	is(list_quiet(), "", "domains_quiet_cpus: empty if there are no files");
	write_file("  (null)\n", CPU "nohz_full");
	write_file("\n", CPU "isolated");
	write_file("\n", "cpuset.cpus.isolated");
	is(list_quiet(), "", "domains_quiet_cpus: empty with the kernel's forms of an empty list");
	write_file("1-2\n", CPU "nohz_full");
	write_file("2,4\n", CPU "isolated");
	write_file("6\n", "cpuset.cpus.isolated");
	is(list_quiet(), "1-2,4,6",
	   "domains_quiet_cpus: has the CPUs of boot parameters and partitions");
}

/*
 * Return hwloc's data or unified cache of the highest level above PU, or NULL if there is none
 * above level 1.
 */
static hwloc_obj_t last_cache(hwloc_obj_t pu)
{
	hwloc_obj_t found = NULL;

	for (hwloc_obj_t o = pu->parent; o; o = o->parent)
		if (hwloc_obj_type_is_dcache(o->type) && o->attr->cache.depth > 1)
			found = o;
	return found;
}

static struct idset set_from(hwloc_const_bitmap_t b)
{
	struct idset s;

	idset_zero(&s);
	for (int i = -1; (i = hwloc_bitmap_next(b, i)) >= 0;)
		idset_add(&s, (unsigned)i);
	return s;
}

/* Return the number of PUs of T whose domain in NODE differs from their last cache or package. */
static unsigned count_differences(hwloc_topology_t t, const struct observed_node *node)
{
	unsigned wrong = 0;

	for (hwloc_obj_t pu = NULL; (pu = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_PU, pu));) {
		hwloc_obj_t c = last_cache(pu);
		struct idset own, want;
		int d;

		idset_zero(&own);
		idset_add(&own, pu->os_index);
		d = domains_of(node, &own);
		if (!c)
			c = hwloc_get_ancestor_obj_by_type(t, HWLOC_OBJ_PACKAGE, pu);
		if (!c)
			c = hwloc_get_root_obj(t);
		want = set_from(c->cpuset);
		wrong += d < 0 || !idset_equal(&want, &node->domain[d].cpus);
	}
	return wrong;
}

/* Write the files that Linux would show for the processors of T. */
static void write_machine(hwloc_topology_t t)
{
	struct idset all = set_from(hwloc_topology_get_topology_cpuset(t));

	begin_tree(list_of(&all));
	for (hwloc_obj_t pu = NULL; (pu = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_PU, pu));) {
		hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(t, HWLOC_OBJ_PACKAGE, pu);
		unsigned index = 0;
		char text[32];

		for (hwloc_obj_t o = pu->parent; o; o = o->parent) {
			struct idset shared = set_from(o->cpuset);

			if (!hwloc_obj_type_is_cache(o->type))
				continue;
			snprintf(text, sizeof(text), "%u\n", o->attr->cache.depth);
			write_cache(pu->os_index, index++, text,
				    hwloc_obj_type_is_icache(o->type) ? "Instruction\n"
								      : "Unified\n",
				    list_of(&shared));
		}
		snprintf(text, sizeof(text), "%u\n", package ? package->os_index : 0);
		write_file(text, CPU "cpu%u/topology/physical_package_id", pu->os_index);
	}
}

static void compare_recorded(const char *path, const char *name)
{
	struct observed_node node;
	hwloc_topology_t t;

	hwloc_topology_init(&t);
	hwloc_topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_ALL);
	if (hwloc_topology_set_xml(t, path) < 0 || hwloc_topology_load(t) < 0) {
		skip(1, "hwloc cannot read %s", name);
	} else {
		write_machine(t);
		list_domains(&node);
		ok(node.n_domains && count_differences(t, &node) == 0,
		   "domains_read: finds the %u domains of %s as hwloc does", node.n_domains, name);
		observed_free(&node);
	}
	hwloc_topology_destroy(t);
}

static void test_recorded_machines(void)
{
	const char *folder = getenv("NODEOS_TOPOLOGIES");
	DIR *dir = folder ? opendir(folder) : NULL;
	struct dirent *e;

	if (!dir) {
		skip(1, "no recorded machines: NODEOS_TOPOLOGIES is %s",
		     folder ? folder : "not set");
		return;
	}
	while ((e = readdir(dir)) != NULL) {
		char path[1024];

		if (!strstr(e->d_name, ".xml"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		compare_recorded(path, e->d_name);
	}
	closedir(dir);
}

static void test_this_host(void)
{
	struct observed_node node = { .n_domains = 0 };
	struct errbuf err = { 0 };
	hwloc_topology_t t;
	int sys = open("/sys", O_RDONLY | O_DIRECTORY);

	hwloc_topology_init(&t);
	hwloc_topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_ALL);
	hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	hwloc_topology_load(t);
	if (domains_read(&node, sys, &err) < 0)
		diag("%s", err.text);
	ok(node.n_domains && count_differences(t, &node) == 0,
	   "domains_read: finds the %u domains of this host as hwloc does", node.n_domains);
	observed_free(&node);
	hwloc_topology_destroy(t);
	close(sys);
}

int main(void)
{
	scratch_make();
	test_two_sockets();
	test_blocks();
	test_without_caches();
	test_quiet_cpus();
	test_recorded_machines();
	test_this_host();
	return tap_done();
}
