/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limits/extent_share.h"

#include <inttypes.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "limits/memory_limit.h"

uint64_t extent_share_of_job(uint64_t job_memory, unsigned cpus)
{
	long all = sysconf(_SC_NPROCESSORS_CONF);
	struct sysinfo info;

	if (job_memory || all < 1 || sysinfo(&info) < 0)
		return job_memory;
	/* without --mem: the same share of the memory as of the CPUs */
	return info.totalram / (uint64_t)all * info.mem_unit * cpus;
}

int extent_share_lower(int cgroup_fd, const char *user, uint64_t extents, uint64_t outside,
		       struct errbuf *err)
{
	uint64_t now;

	if (memory_limit_read(&now, cgroup_fd, user) < 0 || now == UINT64_MAX)
		return 0;
	if (now < extents || now - extents < outside)
		return errprintf(
			err,
			"extents of %" PRIu64 " MiB leave too little of the step's %" PRIu64
			" MiB: the rest of the step needs %" PRIu64 " MiB: ask for more (--mem)",
			extents >> 20, now >> 20, outside >> 20);
	return memory_limit_set(cgroup_fd, user, now - extents, err);
}

uint64_t extent_share_of_step(int cgroup_fd, const char *user, uint64_t outside, uint64_t site)
{
	uint64_t limit;

	if (memory_limit_read(&limit, cgroup_fd, user) < 0)
		limit = UINT64_MAX;
	if (limit != UINT64_MAX)
		limit = limit > outside ? limit - outside : 0;
	/* pages_share() leaves a quarter of the result unused */
	return site && site < limit / 4 * 3 ? site / 3 * 4 : limit;
}
