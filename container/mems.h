/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_MEMS_H
#define NODEOS_CONTAINER_MEMS_H

#include "container/ledger.h"
#include "container/outcome.h"
#include "host/blocks.h"
#include "host/conf.h"
#include "jobplan/job_plan.h"
#include "topology/service.h"

/*
 * Memory on a node whose physical memory nodes the kernel has divided into blocks. Containers have
 * blocks of their own. All other ranks are confined to other blocks, so that they do not use the
 * containers' memory.
 */

/* The memory nodes in use, according to the ledger. */
struct mems_in_use {
	struct idset containers; /* memory nodes of confined containers of other jobs */
	struct idset siblings; /* memory nodes of other step containers of this job */
	struct idset shares; /* memory nodes of other jobs' ranks outside of confined containers */
	/*
	 * bytes that these jobs need on each node of SHARES: at most (MOST), and if they spread
	 * their memory evenly (EVEN)
	 */
	uint64_t most[IDSET_MAX], even[IDSET_MAX];
};

/* Inodes of the directories of the caller's job and step; 0: no step. */
struct mems_self {
	uint64_t job, step;
};

/*
 * Read the memory nodes in use from the ledger. B may have no blocks. BAD gets the problem of an
 * unreadable entry.
 */
int mems_read_ledger(struct mems_in_use *out, struct ledger *l, const struct blocks *b,
		     const struct mems_self *self, struct errbuf *bad, struct errbuf *err);

/* The memory that Slurm has given a job on this node. */
struct mems_given {
	uint64_t memory; /* bytes; 0: unknown */
	const struct idset *cpus, *mems;
};

/*
 * Choose JOB's share: the memory nodes for its ranks outside of confined containers. Its size is
 * GIVEN's memory (if unknown: the job's part of the node, by CPUs) minus the memory of its
 * containers (PLAN may be NULL). The choice, in order:
 *
 *   1. one block of other jobs' shares that has enough space even if all their memory goes there;
 *   2. free blocks: first those near the job's CPUs, last those with files of ended jobs;
 *   3. space that other jobs' shares leave if their memory is spread evenly.
 *
 * If this gives no node, the share is the first of these that has any: the blocks of the job's own
 * containers, those of other jobs' shares without containers, the homes, all nodes of other jobs'
 * shares. The share is empty if GIVEN's mems has none of these.
 */
void mems_share(struct ledger_job *job, const struct blocks *b, const struct mems_in_use *held,
		const struct job_plan *plan, const struct mems_given *given,
		const struct service_set *service);

/*
 * Lower the bytes that JOB's share must hold, since the step containers of PLAN now hold a part of
 * the job's memory. Other jobs can use the difference.
 */
void mems_shrink_share(struct ledger_job *job, const struct blocks *b,
		       const struct mems_in_use *held, const struct job_plan *plan,
		       uint64_t job_memory);

/*
 * Confine the directory PATH to NODES. BOUND: only PATH has NODES; their size becomes the memory
 * limit of PATH, so that the OOM killer stays inside. Returns -1 if NODES then have no usable
 * memory. On homes, which the system needs, the limit is a part of their size. A lower limit of
 * Slurm stays.
 */
int mems_confine(const struct blocks *b, int cgroup_fd, const char *path, const struct idset *nodes,
		 bool bound, struct errbuf *err);

/*
 * Set the memory limit of PATH, a directory that mems_confine() has bound, to the size of its new
 * NODES. The new limit may be higher or lower, but is at most MOST bytes (0: no maximum).
 */
int mems_bound_again(const struct blocks *b, int cgroup_fd, const char *path,
		     const struct idset *nodes, uint64_t most, struct errbuf *err);

/*
 * Refuse many blocks to a job that has requested little memory from Slurm, since Slurm would give
 * the same memory to other jobs. Returns -1 if MEMS, all blocks of a job, are too many for its
 * JOB_MEMORY bytes (0: unknown).
 */
int mems_check_memory(const struct blocks *b, const struct idset *mems, uint64_t job_memory,
		      const char *conf_path, struct errbuf *err);

/*
 * Return Slurm's memory limit for the job whose directory is JOB, in bytes; 0 if there is no limit
 * or it is unknown.
 */
uint64_t mems_of_job(int cgroup_fd, const char *job);

/* Return the guarantee for a container's memory in the job whose directory is JOB. */
enum guarantee mems_guarantee(const struct blocks *b, const struct conf *conf, int cgroup_fd,
			      const char *job);

#endif
