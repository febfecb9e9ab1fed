/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_FENCE_H
#define NODEOS_CONTAINER_FENCE_H

#include "container/ledger.h"
#include "host/conf.h"

/*
 * The partitions ("fences") of a job's steps on this node. A step's fence is its directory "user".
 * Before any hook of ours, Slurm binds a rank to the step's CPUs, and fails if a sibling's fence
 * has taken them. So all fences of a job are down (members) while one of its steps launches, and
 * are raised when none does. The ledger is open in every call.
 */

/*
 * Does a request of the job get a partition by CONF? A request that this release cannot parse
 * counts as one that does.
 */
bool fence_wanted(const struct ledger_job *job, const struct conf *conf);

/* Make all fences of the job members. */
int fence_lower(int root_fd, const struct ledger_job *job, struct errbuf *err);

/*
 * Raise the fences. Returns 0; 1 if a step of the job is launching (nothing is done); -1 if the
 * fence of step MINE (an inode) cannot be raised. If the fence of another step cannot be raised,
 * returns 0 with a text in ERR for the log.
 */
int fence_raise(struct ledger *l, int root_fd, const struct ledger_job *job, uint64_t mine,
		struct errbuf *err);

/* Remove the fence of S, if it has one, before S leaves the ledger. Adds its CPUs to GONE. */
void fence_drop(int root_fd, const struct ledger_step *s, struct idset *gone);

/* Set the exclusive CPUs of the job's own directory to those of its fences. */
void fence_refresh_job(int root_fd, const struct ledger_job *job);

/*
 * Call after fence_refresh_job(): remove the CPUs in GONE, which had removed fences, from the
 * exclusive CPUs of the directories above CGROUP (the job's), except CPUs of live fences. Exclusive
 * CPUs that NodeOS has not set stay there. The kernel's workqueues get the CPUs back.
 */
void fence_refresh_above(struct ledger *l, int root_fd, const char *cgroup,
			 const struct idset *gone);

/*
 * Let the kernel's workqueues use their former CPUs again, except those of live isolated
 * partitions.
 */
void fence_give_back(struct ledger *l);

/*
 * Returns -1 when another job on this node has some of CPUS, or when a directory left by an ended
 * job has no CPUs other than CPUS.
 */
int fence_check_alone(int root_fd, const char *cgroup, const struct idset *cpus,
		      struct errbuf *err);

/* As fence_check_alone(), but ignores directories of ended jobs, as no process runs there. */
int fence_check_jobs(int root_fd, const char *cgroup, const struct idset *cpus, struct errbuf *err);

/*
 * Wait up to MILLISECONDS for other jobs with some of CPUS to end: Slurm gives CPUs to the next job
 * while the slurmstepd of the last job is still ending in its directory. Call it with the ledger
 * closed.
 */
void fence_wait_alone(int root_fd, const char *cgroup, const struct idset *cpus,
		      unsigned milliseconds);

#endif
