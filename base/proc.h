/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_PROC_H
#define NODEOS_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What /proc/PID/stat tells of a process or thread. */
struct process_stat {
	int pid;
	char comm[32];
	bool kernel; /* a kernel thread */
	/* all of its threads: one whose first thread alone has ended has its address space still */
	bool ended;
	bool exiting; /* its last thread ends, and has no address space any more, or soon */
	bool pinned; /* whose affinity the kernel lets nobody change */
	/* in clock ticks since boot: with the pid it names the process for ever */
	unsigned long long start;
};

/* NAME: "123" or "123/task/456"; ROOT is the fd of "/" or of a test's tree. -1 when there is none.
 */
int process_stat_read(struct process_stat *out, int root, const char *name);

/* The same of process PID of this node. */
int process_stat_of(struct process_stat *out, pid_t pid);

/* Its cgroup (v2) as "/a/b"; -1 when there is none. */
int process_cgroup(char *buf, size_t size, int root, const char *name);

/* The same of process PID of this node, as "a/b", as cgroups are named everywhere else here. */
int process_cgroup_of(char *buf, size_t size, pid_t pid);

#endif
