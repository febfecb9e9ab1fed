/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_RANKMAP_RENEW_H
#define NODEOS_TOPOLOGY_RANKMAP_RENEW_H

#include "base/errbuf.h"
#include "base/idset.h"
#include "topology/refusal.h"

/* The container of ranks that run gets other CPUs: which of them each rank gets. Needs libc only.
 */
struct rankmap_renew {
	unsigned n_ranks;
	const struct idset *now; /* n_ranks sets: what each has */
	const struct idset *before, *after; /* the container's CPUs */
	unsigned n_cores; /* cores that cover both, in logical order */
	const struct idset *core; /* n_cores sets: the threads of each */
};

/*
 * Fill OUT[0..n_ranks-1]. A rank that had all of the container has all of it. The others divide it
 * as before: by whole cores, or by threads where one of them has part of a core only; when they had
 * divided all of it, evenly (the first ranks get what is over), else each keeps as many as it had,
 * if there are as many. A rank keeps what it has and may have, and the rest is the nearest that is
 * free. More ranks than there are cores is an error (its code is PLAN_NO_RANK_CPUS), but for ranks
 * that shared theirs before, which share as evenly as can be.
 */
int rankmap_renew(const struct rankmap_renew *in, struct idset *out, struct errbuf *err);

/*
 * A thread of a rank that has gone from BEFORE to AFTER, which were not empty: what it gets in
 * place of MASK. One that was free in all of BEFORE is free in all of AFTER; one that had bound
 * itself keeps that while it can, and else goes from the k-th CPU of BEFORE to the k-th of AFTER,
 * counted round.
 */
struct idset rankmap_renew_thread(const struct idset *mask, const struct idset *before,
				  const struct idset *after);

#endif
