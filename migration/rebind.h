/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_REBIND_H
#define NODEOS_MIGRATION_REBIND_H

#include "base/errbuf.h"
#include "base/idset.h"
#include "container/ledger.h"

/*
 * Give ranks of live containers other cores through the ledger, as nodeosctl resize does: this
 * changes the cpuset.cpus of the rank, the affinity of its threads, and the entry. Memory nodes
 * stay. rebind_ranks() waits for the ledger's lock, so the daemon calls it in a process of its own.
 */
struct rebind_rank {
	uint64_t step_inode;
	char task[LEDGER_TASK_MAX];
	struct idset now, next; /* its present and its new CPUs */
};

/* A container, with its present and its new CPUs, which differ if containers exchange cores. */
struct rebind_place {
	char name[REQUEST_NAME_MAX];
	struct idset cpus, next_cpus;
	struct idset reserved, next_reserved;
	unsigned n;
	struct rebind_rank *rank; /* n entries, owned by the caller */
};

struct rebind {
	uint64_t job_inode;
	/* inode of the step that has the containers; 0: they are those of the job's plan */
	uint64_t own_inode;
	/*
	 * A process that made this move was killed: ranks and the entry may have the old or the new
	 * CPUs.
	 */
	bool again;
	unsigned n;
	struct rebind_place *place; /* n entries, owned by the caller */
};

/* Free the places of R and their ranks; R then has no places. */
void rebind_free(struct rebind *r);

struct rebind_host {
	const char *state_dir; /* the ledger's directory */
	int cgroup_fd;
	unsigned timeout; /* seconds, helper_timeout of nodeos.conf */
};

/*
 * Bind the ranks of R. Returns the number of their threads, or -1 with the reason: a rank or a
 * container has other CPUs than R says, a step of the job is being launched, a container that gets
 * other CPUs is a partition, or the time is over. On failure nothing is changed, except what ERR
 * names as not restored. Ranks that have ended are no error.
 */
int rebind_ranks(const struct rebind *r, const struct rebind_host *h, struct errbuf *err);

/* The time limit of rebind_ranks(), in seconds. */
unsigned rebind_seconds(const struct rebind_host *h);

#endif
