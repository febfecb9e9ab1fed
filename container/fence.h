/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_FENCE_H
#define NODEOS_CONTAINER_FENCE_H

#include "container/ledger.h"

/*
 * The partitions ("fences") of a job's steps on this node. A step's fence is its directory "user".
 * Slurm binds ranks before any hook of ours to CPUs that a fence of a sibling has taken away, and
 * fails: so while a step of the job is launching, all of the job's fences are down (members), and
 * up again when none is. The ledger is open in every call.
 */

/* Does a container of the job's requests ask for a partition, or could one, as a request of another
 * release? */
bool fence_wanted(const struct ledger_job *job);

int fence_lower(int root_fd, const struct ledger_job *job, struct errbuf *err);

/*
 * Raise the fences. Returns 1, nothing done, while a step of the job is launching; -1: the fence of
 * step MINE (an inode) cannot be. A text in ERR with 0 tells of another's, for the log.
 */
int fence_raise(struct ledger *l, int root_fd, const struct ledger_job *job, uint64_t mine,
		struct errbuf *err);

/* Take the fence of S, if it has one, down for good, before S leaves the ledger; adds its CPUs to
 * GONE. */
void fence_drop(int root_fd, const struct ledger_step *s, struct idset *gone);

/* The exclusive CPUs of the job's own directory: those of its fences, and no more. */
void fence_refresh_job(int root_fd, const struct ledger_job *job);

/*
 * Then the same for the directories above CGROUP, a job's: takes from them the CPUs of fences that
 * are GONE, as far as no live fence has them. What else is exclusive there is not ours. The
 * kernel's workqueues get them back.
 */
void fence_refresh_above(struct ledger *l, int root_fd, const char *cgroup,
			 const struct idset *gone);

/* Give the kernel's workqueues the CPUs back that no live isolated partition has, if some have
 * left. */
void fence_give_back(struct ledger *l);

/* -1: another job on this node has some of CPUS, too, or has left a directory that has no others.
 */
int fence_check_alone(int root_fd, const char *cgroup, const struct idset *cpus,
		      struct errbuf *err);

/* The same of jobs only: of what one has left nobody runs. */
int fence_check_jobs(int root_fd, const char *cgroup, const struct idset *cpus, struct errbuf *err);

/*
 * Give other jobs with some of CPUS, a while at most, to be gone: Slurm gives CPUs to the next job
 * while the last one's slurmstepd still ends in its directory. The ledger is not open in this call.
 */
void fence_wait_alone(int root_fd, const char *cgroup, const struct idset *cpus,
		      unsigned milliseconds);

#endif
