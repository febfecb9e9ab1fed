/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_JOBPLAN_APART_H
#define NODEOS_JOBPLAN_APART_H

#include "topology/plan.h"

/* What earlier steps of a job have shown about the containers of a request. */
struct apart {
	uint64_t devils; /* bit I: container I had ranks of class devil */
	struct idset cpus; /* CPUs of other live containers that had such ranks */
};

struct apart_asks {
	const struct plan_ask *ask; /* N requests, 64 at most */
	unsigned n;
	const struct apart *apart;
};

/*
 * As plan_make(), but each container of ASKS->apart->devils gets cores in domains without another
 * such container, if enough of them are free; a core's domain is the smallest of its last level
 * cache, memory locality and package. These containers are planned first, the largest of them
 * before the others. A container with a word for its placement, or with all cores that are left, is
 * planned with the rest. If not all containers fit in this way, the plan is that of plan_make().
 */
int apart_plan(struct plan **out, const struct machine *m, const struct plan_opts *opts,
	       const struct apart_asks *asks, struct errbuf *err);

#endif
