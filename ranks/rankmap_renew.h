/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_RANKS_RANKMAP_RENEW_H
#define NODEOS_RANKS_RANKMAP_RENEW_H

#include "base/errbuf.h"
#include "base/idset.h"
#include "topology/refusal.h"

/* Divide the new CPUs of a container among its running ranks. Needs libc only. */
struct rankmap_renew {
	unsigned n_ranks;
	const struct idset *now; /* n_ranks sets: the present CPUs of each */
	const struct idset *before, *after; /* the container's CPUs */
	unsigned n_cores; /* cores that cover BEFORE and AFTER, in logical order */
	const struct idset *core; /* n_cores sets: the threads of each */
};

/*
 * Fill OUT[0..n_ranks-1]. A rank that had all of the container has all of it. The other ranks
 * divide it as before: by whole cores, or by threads if one of these ranks has only part of a core.
 * If these ranks together had all of the container, they divide the new CPUs evenly (the first
 * ranks get the remainder); otherwise each rank keeps its number of units, if there are enough. A
 * rank keeps those of its units that the container keeps, and gets the nearest free ones in
 * addition. More ranks than cores are an error (its code is PLAN_NO_RANK_CPUS), unless ranks shared
 * cores before: they then share the new cores as evenly as possible.
 */
int rankmap_renew(const struct rankmap_renew *in, struct idset *out, struct errbuf *err);

/*
 * Return the new affinity of a thread with MASK, whose rank has gone from BEFORE to AFTER, both
 * non-empty. A thread that may run on all of BEFORE may run on all of AFTER. A thread that has
 * bound itself keeps MASK if possible; otherwise the k-th CPU of BEFORE becomes the k-th CPU of
 * AFTER, modulo the number of CPUs of AFTER.
 */
struct idset rankmap_renew_thread(const struct idset *mask, const struct idset *before,
				  const struct idset *after);

#endif
