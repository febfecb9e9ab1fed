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
 * Where processes are read: in /proc/PID/status, and by system calls that take a pid. None of these
 * reads waits for an address space or for a process in execve(), which its user can keep there for
 * ever (last section of doc/HACKING.md). A read of /proc/PID/stat could wait.
 */
struct process_source {
	int fd; /* "/proc", or a test's directory; the caller closes it */
	/*
	 * true: FD is the kernel's /proc; false: a test's tree, in which files "stat" have the
	 * results of the system calls
	 */
	bool real;
	/*
	 * true: the kernel numbers processes (Linux 6.9); false: "stat" is read once for each
	 * process
	 */
	bool numbered;
};
void process_source_open(struct process_source *out, int proc_fd);

/* A process. Its user chooses its name, which may contain brackets and newlines. */
struct process_seen {
	pid_t pid, parent;
	bool ended; /* all its threads have ended */
	bool kept_from_exec; /* true: a fork of slurmstepd that has not called execve() yet */
	char command[OBSERVED_COMMAND_MAX]; /* any bytes that a user chose */
	/*
	 * PID and START identify the process until the next boot, and a later process has a larger
	 * START. START is the inode of the process's pidfd or, before Linux 6.9, its start time in
	 * clock ticks since boot.
	 */
	uint64_t start;
	uint64_t ticks; /* clock ticks of CPU time, without that of child processes */
	unsigned threads;
	uint64_t memory; /* resident memory in bytes */
};

#define PROCESS_TEXT_MAX 1024 /* bytes of any /proc/PID/stat or io with the final NUL */

/*
 * Parse TEXT, the content of /proc/PID/status, into all members except START and TICKS. Returns 0,
 * or -1 if TEXT is not such a content.
 */
int process_seen_parse(struct process_seen *out, const char *text);

/*
 * Read process PID. Returns 0, or -1 with errno: ESRCH if the process has ended, EMFILE or ENFILE
 * if no descriptor is free.
 */
int process_seen_read(struct process_seen *out, const struct process_source *from, pid_t pid);

/*
 * Like process_seen_read(), but returns a descriptor of the process's status, for
 * process_seen_again().
 */
int process_seen_open(struct process_seen *out, const struct process_source *from, pid_t pid);

/*
 * Read the process with PID and START again, through STATUS_FD, the descriptor of its status.
 * Returns 0, or -1 if the process has ended, even if another process has PID now.
 */
int process_seen_again(struct process_seen *out, const struct process_source *from, pid_t pid,
		       uint64_t start, int status_fd);

/* Return START of PID, or 0 if the process has ended. */
uint64_t process_start(const struct process_source *from, pid_t pid);

/* Return the scheduling policy of the first thread of PID, or -1 if the thread has ended. */
int process_policy(const struct process_source *from, pid_t pid);

/*
 * Return whether PID is stopped, by SIGSTOP or a debugger. Sets errno to ESRCH if PID has ended,
 * otherwise to 0.
 */
bool process_is_stopped(int proc_fd, pid_t pid);

/*
 * Return whether PID is frozen with its cgroup (cgroup.freeze). CGROUP_FD is the root of cgroup v2.
 */
bool process_is_frozen(int proc_fd, int cgroup_fd, pid_t pid);

/* Get the real uid and gid of PID. Returns 0, or -1. */
int process_owner(uid_t *uid, gid_t *gid, int proc_fd, pid_t pid);

/*
 * Set OUT to the CPUs that the THREADS threads of PID may use. If there are more than
 * PROCESS_THREADS_ASKED threads, some are left out. *DIFFER: two of the threads may use different
 * CPUs, as those of a program of OpenMP with OMP_PROC_BIND. Returns 0, or -1.
 */
#define PROCESS_THREADS_ASKED 512
int process_cpus(struct idset *out, bool *differ, const struct process_source *from, pid_t pid,
		 unsigned threads);

#endif
