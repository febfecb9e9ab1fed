/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contention/domains.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"

/* the most caches of a CPU (directories index0, index1, ...) that are read */
#define DOMAINS_CACHES_MAX 16

static int domains_read_set(struct idset *out, int dir_fd, const char *name)
{
	char *text = malloc(IDSET_LIST_MAX + 2);
	struct errbuf ignored;
	int rc = -1;

	idset_zero(out);
	if (text && file_read(dir_fd, name, text, IDSET_LIST_MAX + 2, &ignored) >= 0)
		rc = idset_parse(out, text, &ignored);
	free(text);
	return rc;
}

/* Return the number in file NAME, or -1 if there is no such file or the file has no number. */
static int domains_read_number(int dir_fd, const char *name)
{
	char text[64], *end;
	struct errbuf ignored;
	long n;

	if (file_read(dir_fd, name, text, sizeof(text), &ignored) <= 0)
		return -1;
	n = strtol(text, &end, 10);
	return end != text && (*end == '\n' || !*end) && n >= 0 && n <= INT32_MAX ? (int)n : -1;
}

/* Append a domain of CPUS, and remove them from REST. */
static int domains_add(struct observed_node *node, int id, const struct idset *cpus,
		       struct idset *rest, struct errbuf *err)
{
	struct observed_domain *grown =
		reallocarray(node->domain, node->n_domains + 1, sizeof(*grown));

	if (!grown)
		return errprintf(err, "out of memory");
	node->domain = grown;
	grown += node->n_domains++;
	memset(grown, 0, sizeof(*grown));
	grown->id = id;
	grown->cpus = *cpus;
	idset_andnot(rest, cpus);
	return 0;
}

/* Return the size in file NAME ("32768K") in bytes, or 0 if there is no such file or no size. */
static uint64_t domains_read_size(int dir_fd, const char *name)
{
	char text[64], *end;
	struct errbuf ignored;
	unsigned long n;

	if (file_read(dir_fd, name, text, sizeof(text), &ignored) <= 0 || *text < '0' ||
	    *text > '9')
		return 0;
	n = strtoul(text, &end, 10);
	return strcmp(end, "K\n") == 0 && n <= UINT32_MAX ? (uint64_t)n * 1024 : 0;
}

struct domains_cache {
	/*
	 * the kernel's number of the cache; the cache's first CPU if it has no number (arm64
	 * without PPTT)
	 */
	int id;
	struct idset cpus;
	uint64_t bytes; /* 0: unknown */
};

/*
 * Find the cache of CPU with the highest level, which must be 2 or more: cores never share a cache
 * of level 1. Returns 0, or -1 if there is no such cache.
 */
static int domains_find_cache(struct domains_cache *out, int sys_fd, unsigned cpu)
{
	int highest = 1;

	for (unsigned i = 0; i < DOMAINS_CACHES_MAX; i++) {
		char name[128], type[32];
		struct errbuf ignored;
		struct idset cpus;
		int level, n;

		n = snprintf(name, sizeof(name), "devices/system/cpu/cpu%u/cache/index%u/", cpu, i);
		snprintf(name + n, sizeof(name) - (size_t)n, "level");
		level = domains_read_number(sys_fd, name);
		snprintf(name + n, sizeof(name) - (size_t)n, "type");
		if (level <= highest || file_read(sys_fd, name, type, sizeof(type), &ignored) < 0 ||
		    strcmp(type, "Instruction\n") == 0)
			continue;
		snprintf(name + n, sizeof(name) - (size_t)n, "shared_cpu_list");
		if (domains_read_set(&cpus, sys_fd, name) < 0 || !idset_has(&cpus, cpu))
			continue;
		snprintf(name + n, sizeof(name) - (size_t)n, "id");
		out->id = domains_read_number(sys_fd, name);
		if (out->id < 0)
			out->id = idset_next(&cpus, -1);
		snprintf(name + n, sizeof(name) - (size_t)n, "size");
		out->bytes = domains_read_size(sys_fd, name);
		out->cpus = cpus;
		highest = level;
	}
	return highest > 1 ? 0 : -1;
}

static int domains_add_caches(struct observed_node *node, int sys_fd, struct idset *rest,
			      struct errbuf *err)
{
	for (int cpu = -1; (cpu = idset_next(rest, cpu)) >= 0;) {
		struct domains_cache cache;

		if (domains_find_cache(&cache, sys_fd, (unsigned)cpu) < 0)
			continue;
		/* leave out CPUs that are offline or in another domain */
		idset_and(&cache.cpus, rest);
		if (domains_add(node, cache.id, &cache.cpus, rest, err) < 0)
			return -1;
	}
	return 0;
}

static int domains_package_of(int sys_fd, int cpu)
{
	char name[96];

	snprintf(name, sizeof(name), "devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
	return domains_read_number(sys_fd, name);
}

static int domains_add_packages(struct observed_node *node, int sys_fd, struct idset *rest,
				struct errbuf *err)
{
	for (int cpu = -1; (cpu = idset_next(rest, cpu)) >= 0;) {
		int id = domains_package_of(sys_fd, cpu);
		struct idset cpus;

		if (id < 0)
			continue;
		idset_zero(&cpus);
		for (int other = cpu; other >= 0; other = idset_next(rest, other))
			if (domains_package_of(sys_fd, other) == id)
				idset_add(&cpus, (unsigned)other);
		if (domains_add(node, id, &cpus, rest, err) < 0)
			return -1;
	}
	return 0;
}

/* Read the CPUs of memory node ID. */
static void domains_node_cpus(struct idset *out, int sys_fd, int id)
{
	char name[64];

	snprintf(name, sizeof(name), "devices/system/node/node%d/cpulist", id);
	domains_read_set(out, sys_fd, name);
}

static int domains_add_nodes(struct observed_node *node, int sys_fd, struct idset *rest,
			     struct errbuf *err)
{
	struct idset nodes, cpus;

	domains_read_set(&nodes, sys_fd, "devices/system/node/online");
	for (int id = -1; (id = idset_next(&nodes, id)) >= 0;) {
		domains_node_cpus(&cpus, sys_fd, id);
		idset_and(&cpus, rest);
		if (!idset_empty(&cpus) && domains_add(node, id, &cpus, rest, err) < 0)
			return -1;
	}
	if (idset_empty(rest))
		return 0;
	cpus = *rest; /* assume that the CPUs that are in no file share one memory */
	return domains_add(node, 0, &cpus, rest, err);
}

/*
 * Return the physical node that memory node ID is a part of, or ID itself. If the kernel has
 * divided nodes (boot parameter fgmn=), a block has no CPUs, but its physical node has.
 */
static int domains_physical(int sys_fd, int id)
{
	char name[64];
	int physical;

	snprintf(name, sizeof(name), "devices/system/node/node%d/physical_node", id);
	physical = domains_read_number(sys_fd, name);
	return physical < 0 ? id : physical;
}

/*
 * Set the memory nodes of each domain: nodes that have memory and share a CPU with the domain, and
 * the blocks of these nodes.
 */
static void domains_set_mems(struct observed_node *node, int sys_fd)
{
	struct idset nodes, cpus;

	if (domains_read_set(&nodes, sys_fd, "devices/system/node/has_memory") < 0)
		domains_read_set(&nodes, sys_fd, "devices/system/node/online");
	for (int id = -1; (id = idset_next(&nodes, id)) >= 0;) {
		domains_node_cpus(&cpus, sys_fd, domains_physical(sys_fd, id));
		for (unsigned i = 0; i < node->n_domains; i++)
			if (idset_intersects(&cpus, &node->domain[i].cpus))
				idset_add(&node->domain[i].mems, (unsigned)id);
	}
}

static int domains_compare(const void *a, const void *b)
{
	const struct observed_domain *x = a, *y = b;

	return idset_next(&x->cpus, -1) - idset_next(&y->cpus, -1);
}

int domains_read(struct observed_node *node, int sys_fd, struct errbuf *err)
{
	struct idset rest;

	if (domains_read_set(&rest, sys_fd, "devices/system/cpu/online") < 0 || idset_empty(&rest))
		return errprintf(err, "/sys/devices/system/cpu/online has no list of CPUs");
	if (domains_add_caches(node, sys_fd, &rest, err) < 0 ||
	    domains_add_packages(node, sys_fd, &rest, err) < 0 ||
	    domains_add_nodes(node, sys_fd, &rest, err) < 0) {
		free(node->domain);
		node->domain = NULL;
		node->n_domains = 0;
		return -1;
	}
	qsort(node->domain, node->n_domains, sizeof(*node->domain), domains_compare);
	domains_set_mems(node, sys_fd);
	return 0;
}

uint64_t domains_cache_bytes(int sys_fd, const struct observed_domain *domain)
{
	int cpu = idset_next(&domain->cpus, -1);
	struct domains_cache cache;

	if (cpu < 0 || domains_find_cache(&cache, sys_fd, (unsigned)cpu) < 0 ||
	    cache.id != domain->id)
		return 0;
	return cache.bytes;
}

int domains_of(const struct observed_node *node, const struct idset *cpus)
{
	int first = idset_next(cpus, -1);

	for (unsigned i = 0; first >= 0 && i < node->n_domains; i++)
		if (idset_has(&node->domain[i].cpus, (unsigned)first))
			return idset_subset(cpus, &node->domain[i].cpus) ? (int)i
									 : OBSERVED_NO_DOMAIN;
	return OBSERVED_NO_DOMAIN;
}

void domains_quiet_cpus(struct idset *out, int sys_fd, int cgroup_fd)
{
	struct idset more;

	/* the file has "(null)" for an empty list, which gives an empty set */
	domains_read_set(out, sys_fd, "devices/system/cpu/nohz_full");
	domains_read_set(&more, sys_fd, "devices/system/cpu/isolated");
	idset_or(out, &more);
	domains_read_set(&more, cgroup_fd, "cpuset.cpus.isolated");
	idset_or(out, &more);
}
