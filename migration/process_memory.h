/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_PROCESS_MEMORY_H
#define NODEOS_MIGRATION_PROCESS_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "migration/numa_maps.h"

/*
 * The address space of a process of a rank. All functions here may wait for it for ever (pages.h);
 * SIGKILL ends the wait.
 */
struct process_memory {
	pid_t pid;
	int dir; /* /proc/PID: refers to this process even if another one gets its pid */
	const char *cgroup; /* borrowed */
};

/*
 * Open and probe process PID, which must be in CGROUP or below and have the caller's user and
 * group. Returns 0, or -1 with errno: ESRCH if it has ended or left the cgroup; another value if it
 * cannot be read.
 */
int process_memory_open(struct process_memory *p, pid_t pid, const char *cgroup);
void process_memory_close(struct process_memory *p);

/*
 * Read a byte of the process's numa_maps, which waits for its mmap_lock. The process must be in its
 * cgroup when the read begins. Each call reads the present address space of the process, even after
 * execve(). Returns 0, or -1 with errno (ESRCH: the process has no address space).
 */
int process_memory_probe(const struct process_memory *p);

/*
 * Call FN for each mapping, with its extent. A mapping that has just been removed is not plain and
 * has no extent. Returns 0, or -1 if no mapping could be read.
 */
int process_memory_each(const struct process_memory *p,
			void (*fn)(const struct numa_mapping *m, const struct maps_extent *extent,
				   void *arg),
			void *arg);

/* A range of present pages of a mapping. */
struct present_pages {
	uint64_t start, end; /* addresses */
	bool huge; /* transparent huge pages, each mapped whole */
};

/* Descriptor for process_memory_scan(); -1 with errno. */
int process_memory_open_pages(const struct process_memory *p);

/*
 * Find present pages from *AT to END, at most MAX ranges, and advance *AT beyond them. The kernel's
 * zero page does not count. Returns the number of ranges, or -1 with errno (ENOTTY: the kernel has
 * no PAGEMAP_SCAN).
 */
int process_memory_scan(struct present_pages *out, unsigned max, int pages_fd, uint64_t *at,
			uint64_t end);

#endif
