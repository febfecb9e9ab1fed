/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/bind.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int set_cpus(pid_t thread, const struct idset *cpus)
{
	cpu_set_t *set = CPU_ALLOC(IDSET_MAX);
	size_t size = CPU_ALLOC_SIZE(IDSET_MAX);
	int rc;

	if (!set)
		return -1;
	CPU_ZERO_S(size, set);
	for (int c = idset_next(cpus, -1); c >= 0; c = idset_next(cpus, c))
		CPU_SET_S((unsigned)c, size, set);
	rc = sched_setaffinity(thread, size, set);
	CPU_FREE(set);
	return rc;
}

/* Return the number of the guest's CPU that thread T runs, or -1. */
static int guest_cpu_of(pid_t t, const pid_t thread[], const struct guest_shape *shape)
{
	for (unsigned i = 0; i < shape->cpus; i++)
		if (thread[i] == t)
			return (int)i;
	return -1;
}

static int bind_one(pid_t t, int cpu, const struct guest_shape *shape, const struct idset *rest,
		    struct errbuf *err)
{
	const struct sched_param none = { 0 };
	struct idset one;

	idset_zero(&one);
	if (cpu >= 0)
		idset_add(&one, shape->cpu[cpu].host);
	if (set_cpus(t, cpu >= 0 ? &one : rest) < 0)
		return errno == ESRCH && cpu < 0
			       ? 0
			       : errprintf(err, "a thread cannot be bound: %s", strerror(errno));
	if (cpu < 0 && sched_getscheduler(t) > SCHED_OTHER)
		/* otherwise the thread would have the policy of the guest's CPUs */
		sched_setscheduler(t, SCHED_OTHER, &none);
	return 0;
}

int guest_bind(pid_t pid, const pid_t thread[GUEST_CPUS_MAX], const struct guest_shape *shape,
	       const struct idset *rest, struct errbuf *err)
{
	char path[64];
	struct dirent *entry;
	unsigned bound = 0;
	int rc = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return errprintf(err, "%s: %s", path, strerror(errno));
	while (rc == 0 && (entry = readdir(dir))) {
		pid_t t = (pid_t)strtol(entry->d_name, NULL, 10);
		int cpu = guest_cpu_of(t, thread, shape);

		if (t <= 0)
			continue;
		bound += cpu >= 0;
		rc = bind_one(t, cpu, shape, rest, err);
	}
	closedir(dir);
	if (rc == 0 && bound != shape->cpus)
		rc = errprintf(err, "QEMU has only %u of the threads of its %u CPUs", bound,
			       shape->cpus);
	return rc;
}

int guest_bind_helper(pid_t pid, const struct idset *cpus, struct errbuf *err)
{
	return bind_one(pid, -1, NULL, cpus, err);
}
