/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_REBIND_H
#define NODEOS_MIGRATION_REBIND_H

#include "base/errbuf.h"
#include "base/idset.h"
#include "container/ledger.h"

/*
 * Give ranks of live containers other cores, through the ledger as nodeosctl resize does: the
 * cpuset.cpus of the rank, the affinity of its threads, the entry. Memory nodes stay. It waits for
 * the ledger's lock, so the daemon calls it in a process of its own.
 */
struct rebind_rank {
	uint64_t step_inode;
	char task[LEDGER_TASK_MAX];
	struct idset now, next; /* CPUs that it has, and is to have */
};

/* A container, and the CPUs that it has and is to have: other ones where two containers swap. */
struct rebind_place {
	char name[REQUEST_NAME_MAX];
	struct idset cpus, next_cpus;
	struct idset reserved, next_reserved;
	unsigned n;
	struct rebind_rank *rank; /* n of them, the caller's */
};

struct rebind {
	uint64_t job_inode;
	/* of the step that has brought the containers; 0: they are in the job's plan */
	uint64_t own_inode;
	/*
	 * A process that did this was killed: ranks may have their old or their new CPUs, and the
	 * entry, too.
	 */
	bool again;
	unsigned n;
	struct rebind_place *place; /* n of them, the caller's */
};

/* Free the places of R and their ranks; it then has none. */
void rebind_free(struct rebind *r);

struct rebind_host {
	const char *state_dir; /* of the ledger */
	int cgroup_fd;
	unsigned timeout; /* seconds, helper_timeout of nodeos.conf */
};

/*
 * Bind the ranks of R. Returns how many threads they have, or -1 with the reason: a rank or a
 * container has other CPUs than R says, a step of the job is being launched, a container that is to
 * have other CPUs is a partition, the time is over. Nothing is changed then, but what ERR says
 * could not be put back. Ranks that have ended are no error.
 */
int rebind_ranks(const struct rebind *r, const struct rebind_host *h, struct errbuf *err);

/* The most that rebind_ranks() takes, in seconds. */
unsigned rebind_seconds(const struct rebind_host *h);

#endif
