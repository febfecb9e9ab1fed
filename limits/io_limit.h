/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LIMITS_IO_LIMIT_H
#define NODEOS_LIMITS_IO_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * The limits in io.max of a directory of the cgroup tree at CGROUP_FD. They are the same for every
 * block device of the host, and apply to reads and to writes separately.
 */
struct io_limit {
	uint64_t bandwidth; /* bytes a second; 0: no limit */
	uint64_t iops; /* operations a second; 0: no limit */
};

/* Does the kernel have CONTROLLER ("io", "memory") in the cgroup tree at CGROUP_FD? */
bool io_limit_has_controller(int cgroup_fd, const char *controller);

/*
 * Turn the io controller on in TOP and in each directory below TOP on the way to PATH; PATH then
 * has io.max. None of these directories may have processes of its own. The controller stays on in
 * TOP.
 */
int io_limit_enable(int cgroup_fd, const char *top, const char *path, struct errbuf *err);

/*
 * Set io.max of PATH for each block device below ROOT/sys/block that has a size (ROOT: "", or a
 * test's directory). Returns the number of devices, or -1. A device that has gone meanwhile is
 * left out.
 */
int io_limit_set(int cgroup_fd, const char *path, const char *root, const struct io_limit *limit,
		 struct errbuf *err);

#endif
