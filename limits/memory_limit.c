/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limits/memory_limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "host/cgroup.h"

int memory_limit_read(uint64_t *out, int cgroup_fd, const char *path)
{
	char text[64];
	struct errbuf ignored;

	if (cgroup_read(cgroup_fd, path, "memory.max", text, sizeof(text), &ignored) < 0)
		return -1;
	*out = *text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : UINT64_MAX;
	return 0;
}

int memory_limit_set(int cgroup_fd, const char *path, uint64_t bytes, struct errbuf *err)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, bytes);
	return cgroup_write(cgroup_fd, path, "memory.max", text, err);
}

int memory_limit_lower(int cgroup_fd, const char *path, uint64_t bytes, struct errbuf *err)
{
	uint64_t now;

	if (memory_limit_read(&now, cgroup_fd, path) < 0 || now <= bytes)
		return 0;
	return memory_limit_set(cgroup_fd, path, bytes, err);
}
