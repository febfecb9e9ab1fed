/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_PLAN_IMPL_H
#define NODEOS_TOPOLOGY_PLAN_IMPL_H

/* Declarations that the planner's files share. plan.c calls the steps, which are a file each. */

#include "topology/fit.h"
#include "topology/plan.h"

/* A core of the machine, as one plan sees it. */
struct own_core {
	unsigned threads; /* of the core in plan_opts.cpus; 0: the plan may not use the core */
	bool half;
	bool taken; /* a container of this plan has the core */
};

/* A container while it is planned. */
struct draft {
	struct plan_container c; /* c.why is set when the plan is complete */
	bool *core; /* for each core of the machine: whether this container has it */
	unsigned n_cores;
	FILE *why; /* stream that writes to TEXT */
	char *text;
	size_t text_len;
};

struct planner {
	const struct machine *m;
	const struct plan_opts *opts;
	const struct plan_ask *ask;
	unsigned n;
	struct own_core *core;
	struct idset mems; /* plan_opts.mems without empty nodes */
	struct idset ordinary; /* nodes of MEMS that containers can get by default */
	struct idset mems_used; /* plan_opts.mems_taken and nodes of confined containers */
	bool thrift;
	struct draft *draft; /* in the order of the requests */
};

enum placing { PLACED, TOO_FEW_CPUS, FAILED };

/* Return how many threads ASK uses of a core that has THREADS in plan_opts.cpus. */
unsigned plan_width(const struct plan_ask *ask, unsigned threads);

/*
 * Choose and take the cores of request I: sets cpus, reserved and core of its draft, and writes the
 * first lines of why. If the result is TOO_FEW_CPUS or FAILED, ERR has the reason.
 */
enum placing plan_cores(struct planner *p, unsigned i, struct errbuf *err);

/*
 * Choose cores of IN that are spread over the domains of LEVEL, and set their flags in TAKE (IN->n
 * flags). Their widths sum up to at least IN->need; the caller ensures that there are enough cores.
 * Returns 0, or -1 if out of memory.
 */
int plan_spread(const struct fit_in *in, enum level level, bool *take);

/*
 * Return the level that WORD names. If WORD is "spread", this is the outermost level at which
 * several domains have free cores.
 */
enum level plan_spread_level(const struct fit_in *in, enum placement_word word);

/* Return how many domains of LEVEL have cores in TAKE. If TAKE is NULL, all cores of IN count. */
unsigned plan_count_domains(const struct fit_in *in, const bool *take, enum level level);

/*
 * Return whether ASK must be spread over NUMA localities. This is so if ASK names no placement, the
 * packed cores PACKED are of one package, and ASK requests more memory than this package has.
 */
bool plan_needs_spread(const struct planner *p, const struct plan_ask *ask, const struct fit_in *in,
		       const bool *packed);

/* Choose the nodes of request I, which has cores, and add them to P->mems_used. Returns 0 or -1. */
int plan_mems(struct planner *p, unsigned i, struct errbuf *err);

/* Return whether node N is local to one of the cores flagged in CORE. */
bool plan_node_is_local(const struct memnode *n, const bool *core);

/* A wish for memory of one kind: a number of nodes or a size. */
#define PLAN_ORDINARY (-1)
struct plan_want {
	int kind; /* enum memory_kind, or PLAN_ORDINARY */
	struct plan_ask ask; /* a request for the number or size */
};

/* Return how many wants ASK has; plan_ask_want() writes want I to OUT. */
unsigned plan_ask_wants(const struct plan_ask *ask);
void plan_ask_want(const struct plan_ask *ask, unsigned i, struct plan_want *out);

/* Write to OUT the nodes that a want of KIND may get, including used ones. */
void plan_nodes_of(const struct planner *p, int kind, struct idset *out);

/* Return what node N counts for ASK: 1 node, or its bytes, bounded so that sums do not overflow. */
int64_t plan_node_amount(const struct memnode *n, const struct plan_ask *ask);

/*
 * Write request I and the reasons for its cores to why of its draft. FIT is the choice; it is NULL
 * if all free cores are taken. Returns 0, or -1 if out of memory.
 */
int plan_explain_cores(struct planner *p, unsigned i, const struct fit_in *in,
		       const struct fit_out *fit);

/* Write which kinds of cores request I could get. FASTEST: only the fastest kind that suffices. */
void plan_explain_kind(struct planner *p, unsigned i, bool fastest);

/* A choice between packed and spread cores. TAKE and OTHER have a flag for each candidate. */
struct placement_choice {
	const bool *take, *other; /* the choice, and the alternative */
	enum level level; /* level over which cores are spread */
	bool spread; /* true: TAKE is spread and OTHER packed; false: the reverse */
};

/* Write to why of draft I which domains CHOICE uses, and which the alternative would use. */
void plan_explain_placement(struct planner *p, unsigned i, const struct fit_in *in,
			    const struct placement_choice *choice);

/* Write the special nodes of plan_opts.mems to OUT, such as "hbm 2-3, gpu 4" ("" for none). */
#define PLAN_SPECIAL_MAX 256
void plan_format_special(const struct planner *p, char out[PLAN_SPECIAL_MAX]);

/*
 * Write the chosen memory nodes to why of draft I. LOCAL of them are local, and REUSED of them are
 * used by another container or job, too.
 */
void plan_explain_mems(struct planner *p, unsigned i, unsigned local, unsigned reused);

#endif
