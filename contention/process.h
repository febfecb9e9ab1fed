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
 * A process as /proc/PID/stat has it: read through an open file, as a rank is read each second. Its
 * user chooses the name, brackets and line ends among it. No call waits for an address space.
 */
struct process_seen {
	pid_t pid, parent;
	bool ended; /* all threads have */
	bool kept_from_exec; /* "slurmstepd": a fork of it, which has not executed anything yet */
	char command[OBSERVED_COMMAND_MAX]; /* hostile bytes */
	uint64_t start; /* clock ticks since boot */
	uint64_t ticks; /* clock ticks of CPU time, without children */
	unsigned threads;
	uint64_t pages; /* resident */
	unsigned policy; /* scheduling policy of the first thread */
};

#define PROCESS_STAT_MAX 1024 /* bytes of any /proc/PID/stat with the final NUL */

/* Parse TEXT. Returns 0, or -1: it is no such text. */
int process_seen_parse(struct process_seen *out, const char *text);

/* Open FILE ("stat", "io") of process PID below PROC_FD. Returns a descriptor, or -1 with errno. */
int process_file_open(int proc_fd, pid_t pid, const char *file);

/* Read an open "stat". Returns 0, or -1: the process is gone, whoever has its number now. */
int process_seen_read(struct process_seen *out, int stat_fd);

/* Read the stat of PID. Returns 0, or -1. */
int process_seen_look(struct process_seen *out, int proc_fd, pid_t pid);

/* Real uid and gid of PID. Returns 0, or -1. */
int process_owner(uid_t *uid, gid_t *gid, int proc_fd, pid_t pid);

/* Is PROC_FD the kernel's /proc? */
bool process_proc_is_real(int proc_fd);

/* CPUs that the first thread of PID may use; PROC_FD -1: asked of the kernel, which costs a tenth
 * of reading the file. Returns 0, or -1. */
int process_cpus(struct idset *out, int proc_fd, pid_t pid);

#endif
