/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_PLAN_IMPL_H
#define NODEOS_TOPOLOGY_PLAN_IMPL_H

/* What the planner's files share: plan.c leads, the others do one step each. */

#include "topology/fit.h"
#include "topology/plan.h"

/* A core of the machine as the plan sees it. */
struct own_core {
	unsigned threads; /* that lie in plan_opts.cpus; 0: not ours */
	bool half;
	bool taken; /* by a container of this plan */
};

/* A container in the making. */
struct draft {
	struct plan_container c; /* c.why is filled at the end */
	bool *core; /* per core of the machine: it is this container's */
	unsigned n_cores;
	FILE *why; /* memory stream to text */
	char *text;
	size_t text_len;
};

struct planner {
	const struct machine *m;
	const struct plan_opts *opts;
	const struct plan_ask *ask;
	unsigned n;
	struct own_core *core;
	struct idset mems; /* plan_opts.mems, but empty ones */
	struct idset ordinary; /* of these, what containers are given */
	struct idset mems_used; /* plan_opts.mems_taken and the confined containers' */
	bool thrift;
	struct draft *draft; /* in the order of the asks */
};

enum placing { PLACED, TOO_FEW_CPUS, FAILED };

/* Usable threads that ASK gets of a core with THREADS of ours. */
unsigned plan_width(const struct plan_ask *ask, unsigned threads);

/*
 * Choose and take the cores of ask I: fills its draft's cpus, reserved, core and
 * the first lines of why. TOO_FEW_CPUS and FAILED come with the error.
 */
enum placing plan_cores(struct planner *p, unsigned i, struct errbuf *err);

/* Choose the memory nodes of ask I, whose cores are chosen, and mark them used. */
int plan_mems(struct planner *p, unsigned i, struct errbuf *err);

/* Is node N local to one of the cores flagged in CORE? */
bool plan_node_is_local(const struct memnode *n, const bool *core);

/* What node N counts for ASK: 1, or bytes (bounded, so that sums cannot overflow). */
int64_t plan_node_amount(const struct memnode *n, const struct plan_ask *ask);

/* Write to the draft's why: what is asked, why these cores. FIT chose them (NULL: all free). */
void plan_explain_cores(struct planner *p, unsigned i, const struct fit_in *in,
			const struct fit_out *fit);

/* What may be given but is not, as it is special: "hbm 2-3, gpu 4" -> OUT ("": nothing). */
#define PLAN_SPECIAL_MAX 256
void plan_format_special(const struct planner *p, char out[PLAN_SPECIAL_MAX]);

/* Write to the draft's why: which memory nodes; LOCAL are local, REUSED somebody else's too. */
void plan_explain_mems(struct planner *p, unsigned i, unsigned local, unsigned reused);

#endif
