/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Domains of trees made by hand, and compared with hwloc's: of this host, and of the recorded
 * machines in the folder NODEOS_TOPOLOGIES. */
#include "contention/domains.h"

#include <dirent.h>
#include <fcntl.h>
#include <hwloc.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

#define CPU "sys/devices/system/cpu/"
#define NODE "sys/devices/system/node/"

/* A new tree: "tN" of the scratch directory. */
static char tree[16];

static void begin(const char *online)
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

static void __attribute__((format(printf, 2, 3))) put(const char *text, const char *name, ...)
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

static void cache(unsigned cpu, unsigned index, const char *level, const char *type,
		  const char *shared)
{
	put(level, CPU "cpu%u/cache/index%u/level", cpu, index);
	put(type, CPU "cpu%u/cache/index%u/type", cpu, index);
	put(shared, CPU "cpu%u/cache/index%u/shared_cpu_list", cpu, index);
}

/* Read the tree, and return its domains as "ID:CPUS@MEMS ID:...". */
static const char *domains(struct observed_node *node)
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

/* The bytes of the domains' caches in the tree. */
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

/* Two sockets of two cores, the second with its CPU 7 offline, the CPUs dealt out in turns. */
static void test_two_sockets(void)
{
	struct observed_node node;
	struct idset cpus;

	begin("0-6\n");
	for (unsigned i = 0; i < 7; i++) {
		const char *shared = i % 2 ? "1,3,5,7\n" : "0,2,4,6\n";

		cache(i, 0, "1\n", "Data\n", i % 4 < 2 ? "0,4\n" : "2,6\n");
		cache(i, 1, "3\n", "Unified\n", shared);
		cache(i, 2, "2\n", "Unified\n", "0-6\n");
		cache(i, 3, "4\n", "Instruction\n", "0-6\n");
		put(i % 2 ? "4\n" : "9\n", CPU "cpu%u/cache/index1/id", i);
		put("1280K\n", CPU "cpu%u/cache/index2/size", i);
	}
	put("36864K\n", CPU "cpu0/cache/index1/size");
	put("-1K\n", CPU "cpu1/cache/index1/size");
	put("0-2\n", NODE "online");
	put("0,2\n", NODE "has_memory");
	put("0,2,4,6\n", NODE "node0/cpulist");
	put("\n", NODE "node1/cpulist");
	put("1,3,5,7\n", NODE "node2/cpulist");
	is(domains(&node), "9:0,2,4,6@0 4:1,3,5@2",
	   "domains_read: highest data or unified cache, online CPUs, nodes with memory");
	is(cache_sizes(&node), "37748736 0",
	   "domains_cache_bytes: the size of each domain's cache; a damaged size is not known");
	cpus = set_of("1,5");
	is_int(domains_of(&node, &cpus), 1, "domains_of: CPUs in one domain");
	cpus = set_of("0-6");
	is_int(domains_of(&node, &cpus), OBSERVED_NO_DOMAIN, "domains_of: CPUs in two domains");
	cpus = set_of("5,7");
	is_int(domains_of(&node, &cpus), OBSERVED_NO_DOMAIN,
	       "domains_of: CPUs of which one is offline");
	cpus = set_of("");
	is_int(domains_of(&node, &cpus), OBSERVED_NO_DOMAIN, "domains_of: no CPU");
	observed_free(&node);
}

static void test_without_caches(void)
{
	struct observed_node node;

	begin("0-7\n");
	for (unsigned i = 0; i < 2; i++) /* a cache without a number, of two CPUs only */
		cache(i, 0, "2\n", "Unified\n", "0-1\n");
	cache(2, 0, "1\n", "Data\n", "2\n"); /* the first level is no domain */
	for (unsigned i = 0; i < 6; i++)
		put(i < 4 ? "1\n" : "0\n", CPU "cpu%u/topology/physical_package_id", i);
	put("-1\n", CPU "cpu6/topology/physical_package_id");
	put("0,3\n", NODE "online");
	put("0-5\n", NODE "node0/cpulist");
	put("6\n", NODE "node3/cpulist");
	is(domains(&node), "0:0-1@0 1:2-3@0 0:4-5@0 3:6@3 0:7@",
	   "domains_read: by cache, package, memory node, and what is left");
	is(cache_sizes(&node), "0 0 0 0 0",
	   "domains_cache_bytes: a cache without a size, and a domain without a cache");
	observed_free(&node);

	begin("0-3\n");
	is(domains(&node), "0:0-3@", "domains_read: a host with a list of CPUs only is one domain");
	observed_free(&node);
	begin("rubbish\n");
	is(domains(&node), "/sys/devices/system/cpu/online: no list of CPUs",
	   "domains_read: no list of CPUs is an error");
	ok(!node.domain, "domains_read: leaves no domain after an error");
	begin("0-3\n");
	for (unsigned i = 0; i < 4; i++) /* not the CPU's own, or no list */
		cache(i, 0, "3\n", "Unified\n", i % 2 ? "9-8\n" : "7\n");
	is(domains(&node), "0:0-3@", "domains_read: damaged lists of a cache are no cache");
	observed_free(&node);
}

static const char *quiet(void)
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
	begin("0-7\n");
	is(quiet(), "", "domains_quiet_cpus: none if no file lists any");
	put("  (null)\n", CPU "nohz_full");
	put("\n", CPU "isolated");
	put("\n", "cpuset.cpus.isolated");
	is(quiet(), "", "domains_quiet_cpus: none with the kernel's forms of an empty list");
	put("1-2\n", CPU "nohz_full");
	put("2,4\n", CPU "isolated");
	put("6\n", "cpuset.cpus.isolated");
	is(quiet(), "1-2,4,6", "domains_quiet_cpus: of boot and of partitions");
}

/* The cache of the highest level above PU that holds data, by hwloc; NULL: none beyond the first
 * level. */
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

/* How many PUs of T have another domain in NODE than their last cache, or their package. */
static unsigned differences(hwloc_topology_t t, const struct observed_node *node)
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

/* Write what Linux would for the processors of T. */
static void put_machine(hwloc_topology_t t)
{
	struct idset all = set_from(hwloc_topology_get_topology_cpuset(t));

	begin(list_of(&all));
	for (hwloc_obj_t pu = NULL; (pu = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_PU, pu));) {
		hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(t, HWLOC_OBJ_PACKAGE, pu);
		unsigned index = 0;
		char text[32];

		for (hwloc_obj_t o = pu->parent; o; o = o->parent) {
			struct idset shared = set_from(o->cpuset);

			if (!hwloc_obj_type_is_cache(o->type))
				continue;
			snprintf(text, sizeof(text), "%u\n", o->attr->cache.depth);
			cache(pu->os_index, index++, text,
			      hwloc_obj_type_is_icache(o->type) ? "Instruction\n" : "Unified\n",
			      list_of(&shared));
		}
		snprintf(text, sizeof(text), "%u\n", package ? package->os_index : 0);
		put(text, CPU "cpu%u/topology/physical_package_id", pu->os_index);
	}
}

static void compare_recorded(const char *path, const char *name)
{
	struct observed_node node;
	hwloc_topology_t t;

	hwloc_topology_init(&t);
	hwloc_topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_ALL);
	if (hwloc_topology_set_xml(t, path) < 0 || hwloc_topology_load(t) < 0) {
		skip(1, "%s: hwloc does not read it", name);
	} else {
		put_machine(t);
		domains(&node);
		ok(node.n_domains && differences(t, &node) == 0,
		   "domains_read: as hwloc, the %u domains of %s", node.n_domains, name);
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
	ok(node.n_domains && differences(t, &node) == 0,
	   "domains_read: as hwloc, the %u domains of this host", node.n_domains);
	observed_free(&node);
	hwloc_topology_destroy(t);
	close(sys);
}

int main(void)
{
	scratch_make();
	test_two_sockets();
	test_without_caches();
	test_quiet_cpus();
	test_recorded_machines();
	test_this_host();
	return tap_done();
}
