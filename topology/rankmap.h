/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_RANKMAP_H
#define NODEOS_TOPOLOGY_RANKMAP_H

#include <stdbool.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "topology/refusal.h"

/*
 * Which rank of one step sits on which CPUs of its container. Needs libc only:
 * every rank computes the same map for itself between fork and exec.
 */
struct rankmap_in {
	unsigned n_ranks; /* ranks of this step on this node */
	/* n_ranks masks as Slurm bound them; NULL: nothing known */
	const struct idset *bound;
	unsigned cpus_per_task; /* -c; 0 or 1: not asked */
	/* the container is as large as it was asked to be: -c makes it no larger */
	bool sized;
	bool overcommit; /* more ranks than cores is allowed */
	bool by_thread; /* --cpu-bind=threads: hardware threads are given, not whole cores */
	bool unbound; /* --cpu-bind=none: every rank has all of the container */
	unsigned threads_per_core; /* use so many of each core's; 0: all */
	/* CPUs of the step as Slurm gave them; NULL: not known */
	const struct idset *step_cpus;
	unsigned n_cores; /* cores that cover step_cpus and the container, in logical order */
	const struct idset *core; /* n_cores sets: the threads of each */
	const struct idset *container; /* usable CPUs of the container */
};

/*
 * Fill OUT[0..n_ranks-1]: masks that tell the ranks apart and lie in the container already stay
 * (Slurm may have chosen them near a GRES); else k-th core of the step -> k-th core of the
 * container; masks that say nothing (all equal, or unknown) are divided by local rank and
 * cpus_per_task; so are masks of more cores than the container has, in their order, each rank
 * getting no more cores than the widest mask holds. Every OUT is a non-empty subset of the
 * container. Without overcommit, ranks > cores of the container is an error (by_thread: > threads),
 * whose code is PLAN_NO_RANK_CPUS.
 */
int rankmap_make(const struct rankmap_in *in, struct idset *out, struct errbuf *err);

#endif
