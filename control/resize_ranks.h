/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_RESIZE_RANKS_H
#define NODEOS_CONTROL_RESIZE_RANKS_H

#include "container/ledger.h"

/* The ranks on this node that are in one place, a container or what the containers leave, whose
 * CPUs change. */
struct rank_group {
	struct idset before, after; /* CPUs of the place */
	unsigned n;
	struct rank_moved {
		struct ledger_step *step; /* borrowed from the job */
		struct ledger_rank *rank;
		struct idset now, next; /* CPUs of the rank */
		unsigned threads; /* that it had when it was bound; 0: it has ended */
	} * moved;
};

/*
 * Fill G with those ranks of JOB that are in PLACE: of step OWN if it has brought that container
 * itself, else of all steps that have brought none. Frees nothing before: G is new or freed.
 */
int rank_group_collect(struct rank_group *g, struct ledger_job *job, const struct ledger_step *own,
		       const char *place, struct errbuf *err);
void rank_group_free(struct rank_group *g);

/* Find out what each will have, PLAN's cores being those of the job (topology/rankmap_renew.h).
 * Changes nothing else. */
int rank_group_renew(struct rank_group *g, const struct job_plan *plan, struct errbuf *err);

/*
 * Bind them, their processes and all threads of these: cgroups first as wide as before and after
 * together, then every thread, then the cgroups as they are to be, which the kernel enforces on
 * whatever has come meanwhile. Notes it in the job (the caller writes the ledger). On failure,
 * those that were bound are bound as before.
 */
int rank_group_bind(struct rank_group *g, int cgroup_fd, struct errbuf *err);

/* Directory of a rank, BUF of CGROUP_PATH_MAX + 64 bytes. */
#define RANK_PATH_MAX (CGROUP_PATH_MAX + 64)
void rank_path(char *buf, const struct ledger_step *step, const struct ledger_rank *rank);

#endif
