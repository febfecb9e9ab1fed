/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LIMITS_EXTENT_SHARE_H
#define NODEOS_LIMITS_EXTENT_SHARE_H

#include <stdint.h>

#include "base/errbuf.h"

/* How a step's extents of huge pages (lwk, guest) and its other memory share the job's memory. */

/*
 * Return the bytes that a job's extents may have on this node, if it has JOB_MEMORY bytes there (0:
 * Slurm gave it none) and CPUS CPUs.
 */
uint64_t extent_share_of_job(uint64_t job_memory, unsigned cpus);

/*
 * Lower memory.max of directory USER below the cgroup mount by EXTENTS bytes, since the kernel does
 * not count huge pages there; OUTSIDE bytes have to remain.
 */
int extent_share_lower(int cgroup_fd, const char *user, uint64_t extents, uint64_t outside,
		       struct errbuf *err);

/*
 * Return the bytes that the extents of a step may have in total if no size is given: memory.max of
 * directory USER minus OUTSIDE bytes, but at most SITE bytes (0: no limit).
 */
uint64_t extent_share_of_step(int cgroup_fd, const char *user, uint64_t outside, uint64_t site);

#endif
