/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_CGROUP_H
#define NODEOS_HOST_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "base/idset.h"

/*
 * Slurm's cgroup v2 tree, seen from a rank: job / step / user / task. Paths come
 * from /proc/PID/cgroup and never from a job id: the scope's name differs between
 * builds and the job's directory is named otherwise from Slurm 26.05 on.
 */
#define CGROUP_PATH_MAX 1024

struct cgroup_place {
	char job[CGROUP_PATH_MAX]; /* relative to the cgroup mount, no leading '/' */
	char step[CGROUP_PATH_MAX];
	char user[CGROUP_PATH_MAX]; /* step/user: where Slurm's limits are */
	char task[CGROUP_PATH_MAX]; /* "" when asked for slurmstepd itself */
	uint64_t job_inode;
	uint64_t step_inode;
};

/*
 * Open the cgroup v2 mount as a directory fd. ROOT NULL: the one that
 * /proc/self/mountinfo shows; else that directory, whatever it is (tests).
 */
int cgroup_open_root(const char *root, struct errbuf *err);

/*
 * Where PID (a rank after Slurm placed it, or slurmstepd itself) stands.
 * PROC is "/proc" or a test's directory.
 */
int cgroup_find_place(struct cgroup_place *out, int root_fd, const char *proc, pid_t pid,
		      struct errbuf *err);

/* Is PATH the directory DIR, or below it? What of PATH is behind it, "" for DIR itself; NULL: no.
 */
const char *cgroup_below(const char *path, const char *dir);

/*
 * Is PATH, a directory of a job, below the slurmd of NODE? Builds of Slurm for several slurmds on
 * a host name the scope "NODE_slurmstepd.scope"; in that of all others there is one, and the
 * answer is yes.
 */
bool cgroup_is_of_node(const char *path, const char *node);

/* Inode of directory PATH below ROOT_FD; 0 when there is none. */
uint64_t cgroup_inode(int root_fd, const char *path);

/* Is the directory PATH with INODE certainly gone? An error that says nothing of that is no. */
bool cgroup_is_gone(int root_fd, const char *path, uint64_t inode);

/*
 * Does the kernel say that no process is in PATH or below? Slurm itself leaves such directories
 * behind when a slurmstepd was killed.
 */
bool cgroup_is_empty(int root_fd, const char *path);

/* Read FILE of PATH into BUF as text without its final newline. */
int cgroup_read(int root_fd, const char *path, const char *file, char *buf, size_t size,
		struct errbuf *err);
int cgroup_read_set(int root_fd, const char *path, const char *file, struct idset *out,
		    struct errbuf *err);
/* The node's CPUs: the root's cpuset.cpus.effective lacks those of live partitions. */
int cgroup_node_cpus(struct idset *out, struct errbuf *err);
/* The memory nodes that have CPUs of their own: no GPU's, expander's or flat high-bandwidth memory
 * is among them. */
int cgroup_mems_with_cpus(struct idset *out, struct errbuf *err);

/* Write TEXT, and nothing but a line's end for "", in one write(2). */
int cgroup_write(int root_fd, const char *path, const char *file, const char *text,
		 struct errbuf *err);
int cgroup_write_set(int root_fd, const char *path, const char *file, const struct idset *set,
		     struct errbuf *err);

/*
 * Give PATH the memory nodes MEMS (cpuset.mems). The kernel takes the mmap_lock of every process in
 * PATH and below, with its cpuset lock held, and a user can keep a mmap_lock for ever (a page fault
 * in a file of his own FUSE server): then nothing forks on this host any more. So PATH holds no
 * process whose address space a user controls: doc/HACKING.md lists each caller with the reason.
 */
int cgroup_write_mems(int root_fd, const char *path, const struct idset *mems, struct errbuf *err);

/* Call FN for every pid in PATH/cgroup.procs. */
int cgroup_each_pid(int root_fd, const char *path, void (*fn)(pid_t pid, void *arg), void *arg,
		    struct errbuf *err);

/*
 * The same for PATH and every cgroup below it, whose path FN is told. What ends meanwhile is left
 * out.
 */
int cgroup_each_pid_below(int root_fd, const char *path,
			  void (*fn)(const char *path, pid_t pid, void *arg), void *arg,
			  struct errbuf *err);

/* The same for every thread of PATH alone, cgroup.threads. */
int cgroup_each_thread(int root_fd, const char *path, void (*fn)(pid_t tid, void *arg), void *arg,
		       struct errbuf *err);

#endif
