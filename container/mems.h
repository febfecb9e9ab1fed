/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_MEMS_H
#define NODEOS_CONTAINER_MEMS_H

#include "container/job_plan.h"
#include "container/ledger.h"
#include "container/outcome.h"
#include "host/blocks.h"
#include "host/conf.h"
#include "topology/service.h"

/*
 * Memory on a node whose memory nodes the kernel has divided: containers have blocks for
 * themselves, and what is in no container is kept to other blocks, or the containers' memory would
 * be anybody's.
 */

/* Who has which memory nodes, as the ledger tells it. */
struct mems_held {
	struct idset containers; /* of other jobs' containers, kept to theirs */
	struct idset siblings; /* of this job's other step containers */
	struct idset shares; /* of other jobs' ranks that are in no such container */
	/* bytes of these that the jobs' memory needs: all that each may put into one node, and
	 * spread evenly */
	uint64_t most[IDSET_MAX], even[IDSET_MAX];
};

/* Who looks: the inodes of its job's directory and its step's; a step of 0 is none. */
struct mems_self {
	uint64_t job, step;
};

/* Look into the ledger; BLOCKS may be off. What is wrong with an unreadable entry goes to BAD. */
int mems_look(struct mems_held *out, struct ledger *l, const struct blocks *b,
	      const struct mems_self *self, struct errbuf *bad, struct errbuf *err);

/* What Slurm has given a job on this node. */
struct mems_given {
	uint64_t memory; /* bytes; 0: not known */
	const struct idset *cpus, *mems;
};

/*
 * Choose JOB's share: the memory nodes for its ranks that are in no container with its own. As much
 * as GIVEN's memory (where not known: by its part of the node's CPUs) is beyond what its containers
 * have (PLAN may be NULL): in one block that other such jobs leave enough of, wherever theirs goes,
 * else in
 * blocks that nobody has, those near its CPUs first, and those with somebody's left files in them
 * last. If that is not enough, in what others leave if their memory is spread evenly; then the
 * blocks of other such jobs are shared; without any its own containers'; then homes, and what other
 * such jobs have. Empty when not even that is among GIVEN's mems.
 */
void mems_share(struct ledger_job *job, const struct blocks *b, const struct mems_held *held,
		const struct job_plan *plan, const struct mems_given *given,
		const struct service_set *service);

/*
 * What JOB's share has to hold, as above, now that the step containers of PLAN hold more of the
 * job's memory than when it was chosen: others may have what it needs no longer.
 */
void mems_shrink_share(struct ledger_job *job, const struct blocks *b, const struct mems_held *held,
		       const struct job_plan *plan, uint64_t job_memory);

/*
 * Keep the directory PATH to NODES. BOUND: they are its own, and its memory stays below what they
 * hold, so that it runs out there; -1 if they hold nothing. Of homes nobody gets more than a part,
 * as the system is there. Slurm's own limit counts where it is lower.
 */
int mems_confine(const struct blocks *b, int cgroup_fd, const char *path, const struct idset *nodes,
		 bool bound, struct errbuf *err);

/*
 * Of a directory that mems_confine has bound to other nodes: what they hold bounds it from now on,
 * more or less than before.
 */
int mems_bound_again(const struct blocks *b, int cgroup_fd, const char *path,
		     const struct idset *nodes, struct errbuf *err);

/*
 * Whoever asks Slurm for little memory does not get many blocks: others' memory would be where
 * Slurm counts it, and not be there. -1 when MEMS, all blocks of a job, are too many for its
 * JOB_MEMORY bytes (0: not known).
 */
int mems_check_memory(const struct blocks *b, const struct idset *mems, uint64_t job_memory,
		      const char *conf_path, struct errbuf *err);

/* What Slurm lets JOB, a job's directory, have, in bytes; 0: no limit, or not known. */
uint64_t mems_of_job(int cgroup_fd, const char *job);

/* What a container's memory in JOB, a job's directory, can rely on. */
enum guarantee mems_guarantee(const struct blocks *b, const struct conf *conf, int cgroup_fd,
			      const char *job);

#endif
