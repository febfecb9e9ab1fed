/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_PROC_H
#define NODEOS_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Processes and threads as /proc shows them. These functions never wait for an address space or for
 * a process in execve(), since a user can make both waits last for ever (last section of
 * doc/HACKING.md). NAME is "123" or "123/task/456"; ROOT is a descriptor of "/", or of a test's
 * tree.
 */
struct process_facts {
	int pid; /* for a thread, the id of the thread */
	/*
	 * the first bytes of the name, which its user chooses; '?' for bytes that a terminal cannot
	 * show
	 */
	char comm[32];
	bool kernel; /* a kernel thread */
	/*
	 * All threads have ended. If only the first has ended, this is false and the address space
	 * exists.
	 */
	bool ended;
	bool exiting; /* the last thread is ending, and the address space is gone */
	/* the next two are set by process_identify() only */
	bool pinned; /* the kernel refuses every change of this thread's affinity */
	/*
	 * PID and NUMBER together identify a process or thread until the next boot. NUMBER is the
	 * inode of its pidfd; for kernel threads, and before Linux 6.9, it is the start time in
	 * clock ticks since boot.
	 */
	uint64_t number;
};

/* Read the status of NAME. Returns 0, or -1 when there is no such process. */
int process_read_facts(struct process_facts *out, int root, const char *name);

/* As process_read_facts(), for process PID of this host. */
int process_read_facts_of(struct process_facts *out, pid_t pid);

/*
 * As process_read_facts(), with all facts. Before Linux 6.9 a child reads the stat of a user's
 * process, because the read may hang; the child is killed after one second, or sooner if an earlier
 * child has hung. Returns 0, or -1 with errno. ETIME: the process stays in execve(), and OUT has
 * the facts of process_read_facts(); any other value: there is no such process.
 */
int process_identify(struct process_facts *out, int root, const char *name);

/*
 * Return the kernel's number of PID, a process or thread; 0 when it has ended, or before Linux 6.9.
 */
uint64_t process_number(pid_t pid);

/*
 * Read up to SIZE - 1 bytes of the file NAME below DIR_FD in a child, which is killed after LIMIT
 * milliseconds. This is for files of /proc whose read waits for an execve(). Returns the number of
 * bytes, or -1 with errno, which is ETIME if the read took too long.
 */
ssize_t process_read_apart(char *buf, size_t size, int dir_fd, const char *name, unsigned limit);

/* Write the cgroup (v2) of NAME as "/a/b". Returns 0, or -1 when it has none. */
int process_cgroup(char *buf, size_t size, int root, const char *name);

/*
 * As process_cgroup(), for process PID of this host, in the form "a/b" that all other code of this
 * tree uses.
 */
int process_cgroup_of(char *buf, size_t size, pid_t pid);

#endif
