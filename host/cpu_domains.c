/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/cpu_domains.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fileio.h"

#define CPU_CACHES_MAX 16 /* number of directories index0, index1, ... of a CPU */

struct cpu_domains {
	int sys_fd;
	struct idset *set;
	unsigned n;
	char text[IDSET_LIST_MAX + 2];
};

/* Append the list of CPUs in file NAME, if there is one. Returns 0, or -1 if out of memory. */
static int cpu_domains_add(struct cpu_domains *d, const char *name, struct errbuf *err)
{
	struct idset cpus, *grown;
	struct errbuf ignored;

	if (file_read(d->sys_fd, name, d->text, sizeof(d->text), &ignored) <= 0 ||
	    idset_parse(&cpus, d->text, &ignored) < 0 || idset_empty(&cpus))
		return 0;
	grown = reallocarray(d->set, d->n + 1, sizeof(*grown));
	if (!grown)
		return errprintf(err, "out of memory");
	d->set = grown;
	d->set[d->n++] = cpus;
	return 0;
}

static int cpu_domains_add_l3(struct cpu_domains *d, unsigned cpu, struct errbuf *err)
{
	for (unsigned i = 0; i < CPU_CACHES_MAX; i++) {
		char name[96], level[16];
		struct errbuf ignored;

		snprintf(name, sizeof(name), "devices/system/cpu/cpu%u/cache/index%u/level", cpu,
			 i);
		if (file_read(d->sys_fd, name, level, sizeof(level), &ignored) <= 0)
			return 0;
		if (level[0] != '3' || level[1] != '\n')
			continue;
		snprintf(name, sizeof(name),
			 "devices/system/cpu/cpu%u/cache/index%u/"
			 "shared_cpu_list",
			 cpu, i);
		return cpu_domains_add(d, name, err);
	}
	return 0;
}

static int cpu_domains_add_package(struct cpu_domains *d, unsigned cpu, struct errbuf *err)
{
	char name[96];

	snprintf(name, sizeof(name), "devices/system/cpu/cpu%u/topology/package_cpus_list", cpu);
	return cpu_domains_add(d, name, err);
}

/* Call ADD for the CPUs one by one; skip each CPU that is in a set which ADD has added. */
static int cpu_domains_add_each(struct cpu_domains *d, struct idset cpus,
				int (*add)(struct cpu_domains *, unsigned, struct errbuf *),
				struct errbuf *err)
{
	for (int cpu = idset_next(&cpus, -1); cpu >= 0; cpu = idset_next(&cpus, cpu)) {
		unsigned before = d->n;

		if (add(d, (unsigned)cpu, err) < 0)
			return -1;
		if (d->n > before)
			idset_andnot(&cpus, &d->set[before]);
	}
	return 0;
}

static int cpu_domains_add_nodes(struct cpu_domains *d, const struct idset *cpus,
				 struct errbuf *err)
{
	struct errbuf ignored;
	struct idset nodes;
	char name[64];

	if (file_read(d->sys_fd, "devices/system/node/has_cpu", d->text, sizeof(d->text),
		      &ignored) <= 0 ||
	    idset_parse(&nodes, d->text, &ignored) < 0)
		return 0;
	for (int id = idset_next(&nodes, -1); id >= 0; id = idset_next(&nodes, id)) {
		snprintf(name, sizeof(name), "devices/system/node/node%d/cpulist", id);
		if (cpu_domains_add(d, name, err) < 0)
			return -1;
		if (d->n && !idset_intersects(&d->set[d->n - 1], cpus))
			d->n--;
	}
	return 0;
}

int cpu_domains_read(struct idset **out, unsigned *n, const char *root, const struct idset *cpus,
		     struct errbuf *err)
{
	struct cpu_domains *d = calloc(1, sizeof(*d));
	char path[DIR_PATH_MAX + 8];
	int rc = -1;

	*out = NULL;
	*n = 0;
	if (!d)
		return errprintf(err, "out of memory");
	snprintf(path, sizeof(path), "%.*s/sys", DIR_PATH_MAX, root);
	d->sys_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->sys_fd < 0 || (cpu_domains_add_each(d, *cpus, cpu_domains_add_package, err) == 0 &&
			      cpu_domains_add_nodes(d, cpus, err) == 0 &&
			      cpu_domains_add_each(d, *cpus, cpu_domains_add_l3, err) == 0)) {
		rc = 0;
		*out = d->set;
		*n = d->n;
	} else {
		free(d->set);
	}
	if (d->sys_fd >= 0)
		close(d->sys_fd);
	free(d);
	return rc;
}
