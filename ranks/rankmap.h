/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_RANKS_RANKMAP_H
#define NODEOS_RANKS_RANKMAP_H

#include <stdbool.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "topology/refusal.h"

/* Map the ranks of one step to the CPUs of its container. Needs libc only. */
struct rankmap_in {
	unsigned n_ranks; /* ranks of this step on this node */
	/* n_ranks masks to which Slurm bound the ranks; NULL: unknown */
	const struct idset *bound;
	unsigned cpus_per_task; /* -c; 0 or 1: not requested */
	/* the container has exactly the requested size: -c does not enlarge it */
	bool sized;
	bool overcommit; /* allow more ranks than cores */
	bool by_thread; /* --cpu-bind=threads: give hardware threads, not whole cores */
	bool unbound; /* --cpu-bind=none: every rank has all of the container */
	unsigned threads_per_core; /* number of threads to use of each core; 0: all */
	/* the step's CPUs as Slurm gave them; NULL: unknown */
	const struct idset *step_cpus;
	unsigned n_cores; /* cores that cover step_cpus and the container, in logical order */
	const struct idset *core; /* n_cores sets: the threads of each */
	const struct idset *container; /* usable CPUs of the container */
	/*
	 * N_DOMAINS sets of CPUs that no rank should straddle (ranks/runs.h): caches, memory
	 * nodes, packages. Those that overlap others are ignored.
	 */
	unsigned n_domains;
	const struct idset *domain;
};

/*
 * Fill OUT[0..n_ranks-1], each with a non-empty subset of the container:
 *
 * Masks that differ between ranks and lie in the container are kept (Slurm may have chosen them
 * near a GRES). Otherwise the k-th core of the step becomes the k-th core of the container. Masks
 * without information (all equal, or unknown) are divided by local rank and cpus_per_task. If the
 * masks have more cores than the container, or their ranks would straddle more domains than a
 * division does, the container's cores are divided in the order of the masks, with no more cores
 * for a rank than the widest mask has.
 *
 * Ranks get equal numbers of cores, with idle cores between them if a rank would otherwise straddle
 * a domain. If this does not suffice, and neither -c nor a mask gives the number, ranks get
 * different numbers of cores and straddle no domain.
 *
 * Without overcommit, more ranks than the container has cores (by_thread: threads) are an error,
 * whose code is PLAN_NO_RANK_CPUS.
 */
int rankmap_make(const struct rankmap_in *in, struct idset *out, struct errbuf *err);

#endif
