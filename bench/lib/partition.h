/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For programs in guests: a cpuset partition for ranks. */
#ifndef NODEOS_BENCH_PARTITION_H
#define NODEOS_BENCH_PARTITION_H

#include <sys/stat.h>

#include "bench/lib/guest.h"

#define CGROUPS "/sys/fs/cgroup"
#define PART CGROUPS "/ranks"

/* Make CPUs 1 to N a cpuset partition of KIND. The kernel moves other programs to other CPUs. */
static inline void make_partition(const char *kind, int n)
{
	char text[64];
	FILE *f;

	guest_put(CGROUPS "/cgroup.subtree_control", "+cpuset");
	if (mkdir(PART, 0755) < 0)
		die(PART);
	snprintf(text, sizeof(text), "1-%d", n);
	guest_put(PART "/cpuset.cpus", text);
	guest_put(PART "/cpuset.cpus.partition", kind);
	f = fopen(PART "/cpuset.cpus.partition", "r");
	if (!f || !fgets(text, sizeof(text), f))
		die(PART);
	fclose(f);
	text[strcspn(text, "\n")] = '\0';
	if (strcmp(text, kind) != 0) {
		errno = EINVAL;
		die(text);
	}
}

static inline void remove_partition(void)
{
	guest_put(PART "/cpuset.cpus.partition", "member");
	if (rmdir(PART) < 0)
		die(PART);
}

#endif
