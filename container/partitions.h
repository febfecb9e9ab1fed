/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_PARTITIONS_H
#define NODEOS_CONTAINER_PARTITIONS_H

#include "container/ledger.h"
#include "host/conf.h"

/*
 * The cpuset partitions of a job's steps on this node. The partition of a step is the step's
 * directory "user". Slurm binds a rank to the step's CPUs before it calls our hooks. Slurm fails to
 * do so if the partition of another step has taken these CPUs. So all partitions of a job are
 * disabled (each directory is a "member") while one of the job's steps launches. They are enabled
 * when no step launches. The ledger is open in every call, except partitions_wait_alone().
 */

/*
 * Return whether a request of the job gets a partition by CONF. A request that this release cannot
 * parse counts as one that does.
 */
bool partitions_wanted(const struct ledger_job *job, const struct conf *conf);

/* Disable all partitions of the job: their directories become members. */
int partitions_disable(int root_fd, const struct ledger_job *job, struct errbuf *err);

/*
 * Enable the partitions of the job. Returns 0; 1 without a change if a step of the job is
 * launching; -1 if the partition of step MINE (an inode) cannot be enabled. If only the partition
 * of another step cannot be enabled, returns 0 with a text in ERR for the log.
 */
int partitions_enable(struct ledger *l, int root_fd, const struct ledger_job *job, uint64_t mine,
		      struct errbuf *err);

/* Remove the partition of S, if any, before S leaves the ledger. Adds its CPUs to GONE. */
void partitions_remove(int root_fd, const struct ledger_step *s, struct idset *gone);

/* Set the exclusive CPUs of the job's own directory to the CPUs of the job's partitions. */
void partitions_refresh_job(int root_fd, const struct ledger_job *job);

/*
 * GONE are the CPUs of removed partitions of the job with directory CGROUP. Remove them from the
 * exclusive CPUs of the directories above CGROUP, except CPUs of live partitions. Exclusive CPUs
 * that NodeOS has not set stay. The kernel's workqueues get the CPUs back. Call this after
 * partitions_refresh_job().
 */
void partitions_refresh_above(struct ledger *l, int root_fd, const char *cgroup,
			      const struct idset *gone);

/* Write to OUT all CPUs of live partitions. Returns 0, or -1 if an entry cannot be read. */
int partitions_live_cpus(struct ledger *l, struct idset *out, struct errbuf *err);

/* Let the kernel's workqueues use their former CPUs again, except those of live partitions. */
void partitions_return_workqueues(struct ledger *l);

/*
 * Returns 0. Returns -1 if another job on this node has some of CPUS, or if the directory of an
 * ended job has no CPUs outside of CPUS. CGROUP is the directory of the caller's job.
 */
int partitions_check_alone(int root_fd, const char *cgroup, const struct idset *cpus,
			   struct errbuf *err);

/* Like partitions_check_alone(), but ignores directories of ended jobs. */
int partitions_check_jobs(int root_fd, const char *cgroup, const struct idset *cpus,
			  struct errbuf *err);

/*
 * Wait up to MILLISECONDS for other jobs with some of CPUS to end: Slurm gives CPUs to the next job
 * while the slurmstepd of the last job still runs in that job's directory. Call this with the
 * ledger closed.
 */
void partitions_wait_alone(int root_fd, const char *cgroup, const struct idset *cpus,
			   unsigned milliseconds);

#endif
