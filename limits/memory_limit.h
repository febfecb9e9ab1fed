/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LIMITS_MEMORY_LIMIT_H
#define NODEOS_LIMITS_MEMORY_LIMIT_H

#include <stdint.h>

#include "base/errbuf.h"

/* memory.max of a directory PATH of the cgroup tree at CGROUP_FD. */

/* Read the limit in bytes; UINT64_MAX: none. Returns -1 without the memory controller. */
int memory_limit_read(uint64_t *out, int cgroup_fd, const char *path);

/* Set the limit to BYTES. */
int memory_limit_set(int cgroup_fd, const char *path, uint64_t bytes, struct errbuf *err);

/* Lower the limit to BYTES. A lower limit stays; without the memory controller nothing changes. */
int memory_limit_lower(int cgroup_fd, const char *path, uint64_t bytes, struct errbuf *err);

#endif
