/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_CGROUP_H
#define NODEOS_HOST_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "base/idset.h"

/*
 * Slurm's cgroup v2 tree from a rank's view: job / step / user / task. Paths come from
 * /proc/PID/cgroup and never from a job id: the scope's name differs between builds, and so does
 * the form of the name of the job's directory (from Slurm 26.05 on).
 */
#define CGROUP_PATH_MAX 1024

struct cgroup_place {
	char job[CGROUP_PATH_MAX]; /* relative to the cgroup mount, without leading '/' */
	char step[CGROUP_PATH_MAX];
	char user[CGROUP_PATH_MAX]; /* step/user: the directory with Slurm's limits */
	char task[CGROUP_PATH_MAX]; /* "": slurmstepd itself */
	uint64_t job_inode;
	uint64_t step_inode;
};

/*
 * Open the directory of the cgroup v2 mount. ROOT NULL: the mount in /proc/self/mountinfo;
 * otherwise the directory ROOT, of any kind (tests).
 */
int cgroup_open_root(const char *root, struct errbuf *err);

/*
 * Find the place of PID: a rank that Slurm has placed, or slurmstepd itself. PROC is "/proc" or a
 * test's directory.
 */
int cgroup_find_place(struct cgroup_place *out, int root_fd, const char *proc, pid_t pid,
		      struct errbuf *err);

/*
 * Return the part of PATH below the directory DIR, "" for DIR itself, or NULL when PATH is not in
 * DIR.
 */
const char *cgroup_below(const char *path, const char *dir);

/*
 * Return whether PATH, a directory of a job, belongs to the slurmd of NODE. Builds of Slurm for
 * several slurmds on a host name each scope "NODE_slurmstepd.scope"; all other builds have one
 * scope, which belongs to every NODE.
 */
bool cgroup_is_of_node(const char *path, const char *node);

/* Return the inode of directory PATH below ROOT_FD, or 0 when there is none. */
uint64_t cgroup_inode(int root_fd, const char *path);

/* Return whether the directory PATH with INODE is certainly gone, and false after an error. */
bool cgroup_is_gone(int root_fd, const char *path, uint64_t inode);

/*
 * Return whether the kernel reports no process in PATH and below. Slurm leaves such directories
 * when a slurmstepd is killed.
 */
bool cgroup_is_empty(int root_fd, const char *path);

/*
 * Read the first line of FILE of PATH into BUF, without its newline. Fails if BUF has no room for
 * the whole file. cgroup_read_set() reads this line as a set.
 */
int cgroup_read(int root_fd, const char *path, const char *file, char *buf, size_t size,
		struct errbuf *err);
int cgroup_read_set(int root_fd, const char *path, const char *file, struct idset *out,
		    struct errbuf *err);
/* Get all CPUs of the node. The root's cpuset.cpus.effective would lack those of partitions. */
int cgroup_node_cpus(struct idset *out, struct errbuf *err);
/* Get the memory nodes with CPUs: not those of GPUs, expanders and flat high-bandwidth memory. */
int cgroup_mems_with_cpus(struct idset *out, struct errbuf *err);

/* Write TEXT, or a newline if TEXT is empty, in one write(2). */
int cgroup_write(int root_fd, const char *path, const char *file, const char *text,
		 struct errbuf *err);
int cgroup_write_set(int root_fd, const char *path, const char *file, const struct idset *set,
		     struct errbuf *err);

/*
 * Give PATH the memory nodes MEMS (cpuset.mems). The kernel takes the mmap_lock of every process in
 * PATH and below, with its cpuset lock held, and a user can hold an mmap_lock forever (by a page
 * fault in a file of the user's own FUSE server): then no process of this host can fork any more.
 * So PATH must have no process whose address space a user controls: doc/HACKING.md lists each
 * caller with the reason why it has none.
 */
int cgroup_write_mems(int root_fd, const char *path, const struct idset *mems, struct errbuf *err);

/* Call FN for every pid in PATH/cgroup.procs. */
int cgroup_each_pid(int root_fd, const char *path, void (*fn)(pid_t pid, void *arg), void *arg,
		    struct errbuf *err);

/*
 * Call FN for every pid in PATH and below, with the path of the pid's cgroup. Cgroups that end
 * meanwhile are skipped.
 */
int cgroup_each_pid_below(int root_fd, const char *path,
			  void (*fn)(const char *path, pid_t pid, void *arg), void *arg,
			  struct errbuf *err);

/* Call FN for every thread in PATH/cgroup.threads. */
int cgroup_each_thread(int root_fd, const char *path, void (*fn)(pid_t tid, void *arg), void *arg,
		       struct errbuf *err);

#endif
