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
 * The time for one change, all of its groups together: how many ranks and threads there are is
 * their user's choice, and launches of other jobs wait for the ledger meanwhile.
 */
struct bind_time {
	long bind_ms, undo_ms;
	long bind_end, undo_end; /* by monotonic_ms(); undo_end is 0 until something is undone */
	unsigned n_stuck; /* ranks that could not be bound as before */
	char stuck[240]; /* the first ones: "step 1, task_0: REASON; ..." */
};

/* It begins: both limits together are less than the HELPER_TIMEOUT seconds after which a launch
 * gives up. */
void bind_time_start(struct bind_time *t, unsigned helper_timeout);

/* Put behind ERR's text which ranks are not as before, or that all are. Returns -1, always. */
int bind_time_tell(const struct bind_time *t, struct errbuf *err);

/*
 * Bind them, their processes and all threads of these: cgroups first as wide as before and after
 * together, then every thread, then the cgroups as they are to be, which the kernel enforces on
 * whatever has come meanwhile. Notes it in the job (the caller writes the ledger). On failure, of
 * which one is that the time for binding is over, those that were bound are undone.
 */
int rank_group_bind(struct rank_group *g, int cgroup_fd, struct bind_time *t, struct errbuf *err);

/* Bind those of a group that is bound as before, and note it in the job. G is turned round: its
 * "now" is its "next". What cannot be undone, or not in time, is named in T. */
void rank_group_undo(struct rank_group *g, int cgroup_fd, struct bind_time *t);

/* Directory of a rank, BUF of CGROUP_PATH_MAX + 64 bytes. */
#define RANK_PATH_MAX (CGROUP_PATH_MAX + 64)
void rank_path(char *buf, const struct ledger_step *step, const struct ledger_rank *rank);

#endif
