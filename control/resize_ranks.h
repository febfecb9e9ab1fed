/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_RESIZE_RANKS_H
#define NODEOS_CONTROL_RESIZE_RANKS_H

#include "container/ledger.h"

/*
 * Ranks on this node whose CPUs change and that are in one place: a container, or outside of all
 * containers.
 */
struct rank_group {
	struct idset before, after; /* CPUs of the place */
	unsigned n;
	struct rank_moved {
		struct ledger_step *step; /* owned by the job */
		struct ledger_rank *rank;
		struct idset now, next; /* CPUs of the rank, now and after the change */
		/* number of threads when the rank was bound; 0: the rank has ended */
		unsigned threads;
		/* requested memory limit of the container in bytes; 0: none */
		uint64_t memory_limit;
	} * moved;
};

/*
 * Fill G, which must be new or freed, with the ranks of JOB in PLACE: the ranks of step OWN if the
 * container was made for that step; otherwise the ranks of all steps without containers of their
 * own.
 */
int rank_group_collect(struct rank_group *g, struct ledger_job *job, const struct ledger_step *own,
		       const char *place, struct errbuf *err);
void rank_group_free(struct rank_group *g);

/*
 * Compute the new CPUs of each rank from the job's cores in PLAN (ranks/rankmap_renew.h). Binds no
 * rank.
 */
int rank_group_renew(struct rank_group *g, const struct job_plan *plan, struct errbuf *err);

/*
 * Time limits of one change, for all its groups together. They are needed because users choose the
 * number of ranks and threads, and launches of other jobs wait for the ledger.
 */
struct bind_time {
	long bind_ms, undo_ms;
	long bind_end, undo_end; /* times of monotonic_ms(); UNDO_END is 0 until the first undo */
	unsigned n_stuck; /* ranks that could not be restored */
	char stuck[240]; /* the first of these ranks: "step 1, task_0: REASON; ..." */
};

/*
 * Start the time limits of T. In total they are below HELPER_TIMEOUT, the seconds after which a
 * launch fails.
 */
void bind_time_start(struct bind_time *t, unsigned helper_timeout);

/* Append to ERR which ranks are not restored, or that all ranks are. Returns -1, always. */
int bind_time_tell(const struct bind_time *t, struct errbuf *err);

/*
 * Bind all threads of the ranks: first add the new CPUs to the cgroups, then bind every thread,
 * then set the cgroups to the new CPUs, which the kernel enforces on new threads. Records the CPUs
 * in the job (the caller writes the ledger). On failure or at the time limit, restores the ranks
 * bound so far.
 */
int rank_group_bind(struct rank_group *g, int cgroup_fd, struct bind_time *t, struct errbuf *err);

/*
 * Restore the ranks of a bound group, and record their old CPUs in the job. G is reversed: NOW and
 * NEXT are exchanged. T gets the ranks that cannot be restored in time.
 */
void rank_group_undo(struct rank_group *g, int cgroup_fd, struct bind_time *t);

/* Write the path of a rank's directory to BUF, RANK_PATH_MAX bytes. */
#define RANK_PATH_MAX (CGROUP_PATH_MAX + 64)
void rank_path(char *buf, const struct ledger_step *step, const struct ledger_rank *rank);

#endif
