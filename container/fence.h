/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_FENCE_H
#define NODEOS_CONTAINER_FENCE_H

#include "container/ledger.h"
#include "host/conf.h"

/*
 * The cpuset partitions ("fences") of a job's steps on this node. The directory "user" of a step
 * becomes its fence. Slurm binds a rank to the step's CPUs before it calls our hooks, and fails if
 * the fence of another step has taken these CPUs. So all fences of a job are lowered (their
 * directories are members, not partitions) while one of the job's steps launches, and are raised
 * when none does. The ledger is open in every call.
 */

/*
 * Return whether a request of the job gets a partition by CONF. A request that this release cannot
 * parse counts as one that does.
 */
bool fence_wanted(const struct ledger_job *job, const struct conf *conf);

/* Lower all fences of the job. */
int fence_lower(int root_fd, const struct ledger_job *job, struct errbuf *err);

/*
 * Raise the fences of the job. Returns 0; 1 without a change if a step of the job is launching; -1
 * if the fence of step MINE (an inode) cannot be raised. If the fence of another step cannot be
 * raised, returns 0 with a text in ERR for the log.
 */
int fence_raise(struct ledger *l, int root_fd, const struct ledger_job *job, uint64_t mine,
		struct errbuf *err);

/* Remove the fence of S, if any, before S leaves the ledger. Adds the fence's CPUs to GONE. */
void fence_drop(int root_fd, const struct ledger_step *s, struct idset *gone);

/* Set the exclusive CPUs of the job's own directory to those of its fences. */
void fence_refresh_job(int root_fd, const struct ledger_job *job);

/*
 * Remove GONE, the CPUs of removed fences, from the exclusive CPUs of the directories above CGROUP,
 * the job's, except CPUs of live fences. Exclusive CPUs that NodeOS has not set stay. The kernel's
 * workqueues get the CPUs back. Call this after fence_refresh_job().
 */
void fence_refresh_above(struct ledger *l, int root_fd, const char *cgroup,
			 const struct idset *gone);

/* Write to OUT all CPUs of live partitions. Returns 0, or -1 if an entry cannot be read. */
int fence_live(struct ledger *l, struct idset *out, struct errbuf *err);

/* Let the kernel's workqueues use their former CPUs again, except those of live partitions. */
void fence_give_back(struct ledger *l);

/*
 * Returns 0, or -1 if another job on this node has some of CPUS, or if a directory left by an ended
 * job has no CPUs other than CPUS.
 */
int fence_check_alone(int root_fd, const char *cgroup, const struct idset *cpus,
		      struct errbuf *err);

/* As fence_check_alone(), but ignores directories of ended jobs, which have no processes. */
int fence_check_jobs(int root_fd, const char *cgroup, const struct idset *cpus, struct errbuf *err);

/*
 * Wait up to MILLISECONDS for other jobs with some of CPUS to end: Slurm gives CPUs to the next job
 * while the slurmstepd of the last job still runs in that job's directory. Call this with the
 * ledger closed.
 */
void fence_wait_alone(int root_fd, const char *cgroup, const struct idset *cpus,
		      unsigned milliseconds);

#endif
