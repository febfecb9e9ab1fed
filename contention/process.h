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
 * for an address space, or for a process in execve(), where its user can keep it for ever (last
 * section of doc/HACKING.md). Reading /proc/PID/stat would wait.
 */
struct process_source {
	int fd; /* "/proc", or a test's directory; the caller closes it */
	/*
	 * the kernel's /proc; in a test's tree, files "stat" have the results of the system calls
	 */
	bool real;
	/* the kernel numbers processes (Linux 6.9); if not, "stat" is read once for each process */
	bool numbered;
};
void process_source_open(struct process_source *out, int proc_fd);

/* A process. Its user chooses its name, which may contain brackets and line ends. */
struct process_seen {
	pid_t pid, parent;
	bool ended; /* all its threads have ended */
	bool kept_from_exec; /* still a fork of slurmstepd, before its execve() */
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
 * Parse TEXT, the content of /proc/PID/status, which has all members except START and TICKS.
 * Returns 0, or -1 if it is not such a text.
 */
int process_seen_parse(struct process_seen *out, const char *text);

/*
 * Read process PID. Returns 0, or -1 with errno: ESRCH if it has ended, EMFILE or ENFILE without
 * free descriptors.
 */
int process_seen_read(struct process_seen *out, const struct process_source *from, pid_t pid);

/*
 * As process_seen_read(), but returns a descriptor of the process's status, for
 * process_seen_again().
 */
int process_seen_open(struct process_seen *out, const struct process_source *from, pid_t pid);

/*
 * Read the process PID, START again, through the descriptor of its status. Returns 0, or -1 if it
 * has ended, even if another process has PID now.
 */
int process_seen_again(struct process_seen *out, const struct process_source *from, pid_t pid,
		       uint64_t start, int status_fd);

/* Return START of PID; 0 if it has ended. */
uint64_t process_start(const struct process_source *from, pid_t pid);

/* Return the scheduling policy of the first thread of PID; -1 if it has ended. */
int process_policy(const struct process_source *from, pid_t pid);

/* Is PID stopped, by SIGSTOP or a debugger? Sets errno to ESRCH if it has ended, otherwise to 0. */
bool process_is_stopped(int proc_fd, pid_t pid);

/* Is PID frozen with its cgroup (cgroup.freeze)? CGROUP_FD is the root of cgroup v2. */
bool process_is_frozen(int proc_fd, int cgroup_fd, pid_t pid);

/* Get the real uid and gid of PID. Returns 0, or -1. */
int process_owner(uid_t *uid, gid_t *gid, int proc_fd, pid_t pid);

/*
 * Get the CPUs that the threads of PID, THREADS in number, may use; of more than
 * PROCESS_THREADS_ASKED threads, only those of the first. *DIFFER: two of them may use different
 * CPUs, as those of a program of OpenMP with OMP_PROC_BIND. Returns 0, or -1.
 */
#define PROCESS_THREADS_ASKED 512
int process_cpus(struct idset *out, bool *differ, const struct process_source *from, pid_t pid,
		 unsigned threads);

#endif
