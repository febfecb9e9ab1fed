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
 * Where processes are read: /proc/PID/status, and system calls that take a pid. None of these waits
 * for an address space, or for a process in execve(), whose exec_update_lock its user can hold for
 * ever (last section of doc/HACKING.md). A reader of /proc/PID/stat would wait.
 */
struct process_source {
	int fd; /* "/proc", or a test's directory; the caller closes it */
	bool real; /* the kernel's /proc; a test's "stat" has what system calls return */
	bool numbered; /* the kernel numbers processes (Linux 6.9); otherwise "stat" is read once */
};
void process_source_open(struct process_source *out, int proc_fd);

/* A process. Its user chooses its name, which may contain brackets and line ends. */
struct process_seen {
	pid_t pid, parent;
	bool ended; /* all its threads have ended */
	bool kept_from_exec; /* a fork of slurmstepd that has not executed a program yet */
	char command[OBSERVED_COMMAND_MAX]; /* hostile bytes */
	/*
	 * PID and START identify the process until the next boot; a process that began later has
	 * a larger START. It is the kernel's number of the process (the inode of its pidfd) or,
	 * before Linux 6.9, the start time in clock ticks since boot
	 */
	uint64_t start;
	uint64_t ticks; /* clock ticks of CPU time, without children */
	unsigned threads;
	uint64_t memory; /* resident memory in bytes */
};

#define PROCESS_TEXT_MAX 1024 /* bytes of any /proc/PID/stat or io with the final NUL */

/* Parse TEXT, the content of /proc/PID/status, which has all but start and ticks. Returns 0, or -1
 * if it is none. */
int process_seen_parse(struct process_seen *out, const char *text);

/* Read process PID. Returns 0, or -1 with errno: ESRCH if it has ended, EMFILE or ENFILE if there
 * are no descriptors. */
int process_seen_look(struct process_seen *out, const struct process_source *from, pid_t pid);

/* The same, but returns a descriptor of its open status, for process_seen_again(). */
int process_seen_open(struct process_seen *out, const struct process_source *from, pid_t pid);

/* Read process PID, START again, by its open status. Returns 0, or -1 if the process has ended,
 * even if another one has its pid now. */
int process_seen_again(struct process_seen *out, const struct process_source *from, pid_t pid,
		       uint64_t start, int status_fd);

/* The start of PID; 0 if it has ended. */
uint64_t process_start(const struct process_source *from, pid_t pid);

/* The scheduling policy of the first thread of PID; -1 if it has ended. */
int process_policy(const struct process_source *from, pid_t pid);

/* Is PID stopped, by SIGSTOP or a debugger? errno is ESRCH if it has ended, otherwise 0. */
bool process_is_stopped(int proc_fd, pid_t pid);

/* Is PID frozen with its cgroup (cgroup.freeze)? CGROUP_FD is the root of cgroup v2. */
bool process_is_frozen(int proc_fd, int cgroup_fd, pid_t pid);

/* Real uid and gid of PID. Returns 0, or -1. */
int process_owner(uid_t *uid, gid_t *gid, int proc_fd, pid_t pid);

/* CPUs that the first thread of PID may use. Returns 0, or -1. */
int process_cpus(struct idset *out, const struct process_source *from, pid_t pid);

#endif
