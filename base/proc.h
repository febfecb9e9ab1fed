/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_PROC_H
#define NODEOS_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Fields of /proc/PID/stat of a process or thread. */
struct process_stat {
	int pid;
	char comm[32];
	bool kernel; /* a kernel thread */
	/* all threads have ended; if only the first has, the address space still exists */
	bool ended;
	bool exiting; /* the last thread is ending, and the address space is gone or soon will be */
	bool pinned; /* the kernel lets no process change its affinity */
	/* in clock ticks since boot: pid and start time identify a process for ever */
	unsigned long long start;
};

/*
 * Read the stat of NAME, "123" or "123/task/456", below ROOT, the fd of "/" or of a test's tree.
 * Returns 0, or -1 when there is no such process.
 */
int process_stat_read(struct process_stat *out, int root, const char *name);

/* As process_stat_read(), for process PID of this host. */
int process_stat_of(struct process_stat *out, pid_t pid);

/* Write the cgroup (v2) of NAME as "/a/b". Returns 0, or -1 when it has none. */
int process_cgroup(char *buf, size_t size, int root, const char *name);

/*
 * As process_cgroup(), for process PID of this host, in the form "a/b" that cgroups have everywhere
 * else in this tree.
 */
int process_cgroup_of(char *buf, size_t size, pid_t pid);

#endif
