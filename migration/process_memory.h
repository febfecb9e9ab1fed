/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_PROCESS_MEMORY_H
#define NODEOS_MIGRATION_PROCESS_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "migration/numa_maps.h"

/*
 * The address space of a process of a rank. All here may wait for it for ever (pages.h), in a way
 * that SIGKILL ends.
 */
struct process_memory {
	pid_t pid;
	int dir; /* /proc/PID: of this process, also when another one gets its pid */
	const char *cgroup; /* borrowed */
};

/*
 * Open process PID, that is in CGROUP or below and has the caller's user and group, and probe it.
 * Returns 0, or -1 with errno: ESRCH if it has ended or left the cgroup; another one if it cannot
 * be looked at.
 */
int process_memory_open(struct process_memory *p, pid_t pid, const char *cgroup);
void process_memory_close(struct process_memory *p);

/*
 * Read a byte of the process's numa_maps: for that its mmap_lock must be free. Returns 0 if it was
 * and the process is in its cgroup, or -1 with errno. Each call reads the address space that the
 * process has now, execve() or not.
 */
int process_memory_probe(const struct process_memory *p);

/* Call FN for each mapping, with its extent; one that has just gone is not plain and has none. */
int process_memory_each(const struct process_memory *p,
			void (*fn)(const struct numa_mapping *m, const struct maps_extent *extent,
				   void *arg),
			void *arg);

/* Pages that are there, of a mapping. */
struct present_pages {
	uint64_t start, end; /* addresses */
	bool huge; /* transparent huge pages, each mapped whole */
};

/* Descriptor for process_memory_scan(); -1 with errno. */
int process_memory_open_pages(const struct process_memory *p);

/*
 * Find pages that are there from *AT to END, at most MAX ranges, and advance *AT behind them. The
 * kernel's page of zeros is none. Returns their number, or -1 with errno (ENOTTY: the kernel cannot
 * do that).
 */
int process_memory_scan(struct present_pages *out, unsigned max, int pages_fd, uint64_t *at,
			uint64_t end);

#endif
