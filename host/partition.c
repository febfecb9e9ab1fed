/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/partition.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/cgroup.h"

#define STATE "cpuset.cpus.partition"
#define EXCLUSIVE "cpuset.cpus.exclusive"

int partition_state(int root_fd, const char *path, char *buf, size_t size, struct errbuf *err)
{
	return cgroup_read(root_fd, path, STATE, buf, size, err);
}

int partition_switch(int root_fd, const char *path, enum partition p, struct errbuf *err)
{
	struct errbuf ignored;
	char state[256];

	if (cgroup_write(root_fd, path, STATE, partition_name(p), err) < 0 ||
	    partition_state(root_fd, path, state, sizeof(state), err) < 0)
		return -1;
	if (strcmp(state, partition_name(p)) == 0)
		return 0;
	/* otherwise an invalid partition could become valid later */
	cgroup_write(root_fd, path, STATE, partition_name(PARTITION_MEMBER), &ignored);
	return errprintf(err, "the kernel reports the state \"%s\"", state);
}

int partition_set_exclusive(int root_fd, const char *path, const struct idset *cpus,
			    struct errbuf *err)
{
	struct idset now;

	if (!cgroup_inode(root_fd, path))
		return 0;
	if (cgroup_read_set(root_fd, path, EXCLUSIVE, &now, err) < 0)
		return -1;
	if (idset_equal(&now, cpus))
		return 0;
	if (idset_empty(cpus))
		return cgroup_write(root_fd, path, EXCLUSIVE, "", err);
	return cgroup_write_set(root_fd, path, EXCLUSIVE, cpus, err);
}

int partition_shrink_exclusive(int root_fd, const char *path, const struct idset *cpus,
			       struct errbuf *err)
{
	struct idset left;

	if (!cgroup_inode(root_fd, path))
		return 0;
	if (cgroup_read_set(root_fd, path, EXCLUSIVE, &left, err) < 0)
		return -1;
	idset_andnot(&left, cpus);
	return partition_set_exclusive(root_fd, path, &left, err);
}

/* Add CPUS to the CPUs that directories below PATH can have exclusively. */
static int grow_exclusive(int root_fd, const char *path, const struct idset *cpus,
			  struct errbuf *err)
{
	struct idset both;

	if (cgroup_read_set(root_fd, path, EXCLUSIVE, &both, err) < 0)
		return -1;
	idset_or(&both, cpus);
	return partition_set_exclusive(root_fd, path, &both, err);
}

int partition_make(int root_fd, const char *path, enum partition p, const struct idset *cpus,
		   struct errbuf *err)
{
	char above[CGROUP_PATH_MAX];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(above, sizeof(above), "%.*s", (int)(slash - path), path);
		if (grow_exclusive(root_fd, above, cpus, err) < 0)
			goto failed;
	}
	if (partition_set_exclusive(root_fd, path, cpus, err) == 0 &&
	    partition_switch(root_fd, path, p, err) == 0)
		return 0;
failed:
	return errwrap(err, "partition %s", partition_name(p));
}
