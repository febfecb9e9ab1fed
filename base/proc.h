/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_PROC_H
#define NODEOS_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Processes and threads as /proc shows them, from files that wait neither for an address space nor
 * for a process in execve(), which its user can make last for ever (last section of
 * doc/HACKING.md). A name is "123" or "123/task/456", below ROOT, the fd of "/" or of a test's
 * tree.
 */
struct process_facts {
	int pid; /* of a thread: its own */
	/* the first bytes; '?' for those that a terminal cannot show. Its user chooses it. */
	char comm[32];
	bool kernel; /* a kernel thread */
	/* all threads have ended; if only the first has, the address space still exists */
	bool ended;
	bool exiting; /* the last thread is ending, and the address space is gone */
	/* process_identify() only: */
	bool pinned; /* the kernel lets no process change the affinity of this thread of its own */
	/*
	 * pid and number identify a process or thread until the next boot: the kernel's number of
	 * it (the inode of its pidfd), or, for threads of the kernel and before Linux 6.9, the
	 * start time in clock ticks since boot
	 */
	uint64_t number;
};

/* Read the status of NAME. Returns 0, or -1 when there is no such process. */
int process_look(struct process_facts *out, int root, const char *name);

/* As process_look(), for process PID of this host. */
int process_look_of(struct process_facts *out, pid_t pid);

/*
 * As process_look(), with all facts. Before Linux 6.9 a process of a user is asked in a process of
 * our own, which may wait: one second at first, and shorter when one has waited already. Returns
 * 0, or -1 with errno: ETIME when the process is executing a program and does not finish, where
 * OUT has the facts of process_look(); otherwise there is no such process.
 */
int process_identify(struct process_facts *out, int root, const char *name);

/* The kernel's number of PID, a process or thread; 0 when it has ended, or before Linux 6.9. */
uint64_t process_number(pid_t pid);

/*
 * Read up to SIZE - 1 bytes of the file NAME below DIR_FD in a process of our own, which is killed
 * after LIMIT milliseconds: for files of /proc that wait for an execve(). Returns the number of
 * bytes, or -1 with errno, ETIME when it took too long.
 */
ssize_t process_read_apart(char *buf, size_t size, int dir_fd, const char *name, unsigned limit);

/* Write the cgroup (v2) of NAME as "/a/b". Returns 0, or -1 when it has none. */
int process_cgroup(char *buf, size_t size, int root, const char *name);

/*
 * As process_cgroup(), for process PID of this host, in the form "a/b" that cgroups have everywhere
 * else in this tree.
 */
int process_cgroup_of(char *buf, size_t size, pid_t pid);

#endif
