/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTENTION_PROCESS_H
#define NODEOS_CONTENTION_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/idset.h"
#include "contention/observed.h"

/*
 * Where processes are read: of /proc their status, and what calls of the kernel say of a pid. None
 * waits for an address space, nor for a process in execve(), whose exec_update_lock its user can
 * hold for ever (doc/HACKING.md, the last section), as a reader of stat does.
 */
struct process_source {
	int fd; /* "/proc", or a test's directory; the caller's */
	bool real; /* the kernel's. A test's has the numbers that are no file's in "stat" */
	bool numbered; /* the kernel numbers processes (Linux 6.9); else "stat" is read once */
};
void process_source_open(struct process_source *out, int proc_fd);

/* Its user chooses the name, brackets and line ends among it. */
struct process_seen {
	pid_t pid, parent;
	bool ended; /* all its threads have ended */
	bool kept_from_exec; /* a fork of slurmstepd that has not executed a program yet */
	char command[OBSERVED_COMMAND_MAX]; /* hostile bytes */
	/*
	 * With PID it names the process until the next boot, and is larger in one that began
	 * later: the kernel's number of the process (inode of its pidfd), or clock ticks since boot
	 */
	uint64_t start;
	uint64_t ticks; /* clock ticks of CPU time, without children */
	unsigned threads;
	uint64_t memory; /* resident, bytes */
};

#define PROCESS_TEXT_MAX 1024 /* bytes of any /proc/PID/stat or io with the final NUL */

/* Parse TEXT, a status: all but start and ticks. Returns 0, or -1: it is no such text. */
int process_seen_parse(struct process_seen *out, const char *text);

/* Read PID. Returns 0, or -1 with errno: it is gone (ESRCH), or descriptors are missing. */
int process_seen_look(struct process_seen *out, const struct process_source *from, pid_t pid);

/* The same; returns its open status, for: */
int process_seen_open(struct process_seen *out, const struct process_source *from, pid_t pid);

/* Read process PID, START again through its open status. Returns 0, or -1: the process is gone,
 * whoever has its number now. */
int process_seen_again(struct process_seen *out, const struct process_source *from, pid_t pid,
		       uint64_t start, int status_fd);

/* The start of PID; 0: it is gone. */
uint64_t process_start(const struct process_source *from, pid_t pid);

/* Scheduling policy of the first thread; -1: it is gone. */
int process_policy(const struct process_source *from, pid_t pid);

/* Is it stopped, by SIGSTOP or a debugger? errno is ESRCH where it is gone, else 0. */
bool process_is_stopped(int proc_fd, pid_t pid);

/* Is it frozen with its cgroup (cgroup.freeze), below CGROUP_FD, the root of cgroup v2? */
bool process_is_frozen(int proc_fd, int cgroup_fd, pid_t pid);

/* Real uid and gid of PID. Returns 0, or -1. */
int process_owner(uid_t *uid, gid_t *gid, int proc_fd, pid_t pid);

/* CPUs that the first thread of PID may use. Returns 0, or -1. */
int process_cpus(struct idset *out, const struct process_source *from, pid_t pid);

#endif
