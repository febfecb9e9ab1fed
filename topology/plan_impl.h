/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_PLAN_IMPL_H
#define NODEOS_TOPOLOGY_PLAN_IMPL_H

/* Declarations that the planner's files share: plan.c leads, each other file does one step. */

#include "topology/fit.h"
#include "topology/plan.h"

/* The plan's view of a core of the machine. */
struct own_core {
	unsigned threads; /* number in plan_opts.cpus; 0: the plan may not use this core */
	bool half;
	bool taken; /* by a container of this plan */
};

/* A container while it is planned. */
struct draft {
	struct plan_container c; /* c.why is set at the end */
	bool *core; /* per core of the machine: this container has it */
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
	struct idset mems; /* plan_opts.mems without empty nodes */
	struct idset ordinary; /* those of MEMS that containers can get */
	struct idset mems_used; /* plan_opts.mems_taken and the nodes of confined containers */
	bool thrift;
	struct draft *draft; /* in the order of the requests */
};

enum placing { PLACED, TOO_FEW_CPUS, FAILED };

/* Return the usable threads that ASK gets of a core with THREADS in plan_opts.cpus. */
unsigned plan_width(const struct plan_ask *ask, unsigned threads);

/*
 * Choose and take the cores of request I: fills its draft's cpus, reserved, core and the first
 * lines of why. TOO_FEW_CPUS and FAILED set ERR.
 */
enum placing plan_cores(struct planner *p, unsigned i, struct errbuf *err);

/*
 * Choose cores of IN that are spread over LEVEL: set TAKE, in->n flags. The widths of the chosen
 * cores sum up to at least in->need; the caller ensures that those of all cores do. -1: out of
 * memory.
 */
int plan_spread(const struct fit_in *in, enum level level, bool *take);

/* Return the level that WORD names, or, if WORD is "spread", the outermost level with several free
 * domains. */
enum level plan_spread_level(const struct fit_in *in, enum placement_word word);

/* Return how many domains of LEVEL have cores in TAKE (NULL: candidates of IN). */
unsigned plan_count_domains(const struct fit_in *in, const bool *take, enum level level);

/*
 * Is ASK, a request without a word for the placement, to be spread over NUMA localities? It is if
 * the cores PACKED are of one package, and ASK requests more memory than this package has.
 */
bool plan_needs_spread(const struct planner *p, const struct plan_ask *ask, const struct fit_in *in,
		       const bool *packed);

/* Choose the memory nodes of request I, whose cores are chosen, and mark them used. */
int plan_mems(struct planner *p, unsigned i, struct errbuf *err);

/* Return whether node N is local to one of the cores flagged in CORE. */
bool plan_node_is_local(const struct memnode *n, const bool *core);

/* A wish for memory: of one kind of nodes, with count or size in ASK. */
#define PLAN_ORDINARY (-1)
struct plan_want {
	int kind; /* enum memory_kind, or PLAN_ORDINARY */
	struct plan_ask ask;
};

/* Return the number of wants of ASK; write want I of them to OUT. */
unsigned plan_ask_wants(const struct plan_ask *ask);
void plan_ask_want(const struct plan_ask *ask, unsigned i, struct plan_want *out);

/* Write the nodes that a want of KIND may get, used ones too. */
void plan_nodes_of(const struct planner *p, int kind, struct idset *out);

/* Return the amount of node N for ASK: 1, or bytes (bounded, so that sums cannot overflow). */
int64_t plan_node_amount(const struct memnode *n, const struct plan_ask *ask);

/*
 * Write the request and the reasons for its cores to the draft's why. FIT chose them (NULL: all
 * free cores are taken).
 */
void plan_explain_cores(struct planner *p, unsigned i, const struct fit_in *in,
			const struct fit_out *fit);

/* Write which kinds of cores request I could get. FASTEST: the fastest kind that suffices. */
void plan_explain_kind(struct planner *p, unsigned i, bool fastest);

/* A choice between packed and spread cores: flags of the candidates. */
struct placement_choice {
	const bool *take, *other; /* what was chosen, and the other choice */
	enum level level; /* of the spread ones */
	bool spread; /* TAKE is spread, OTHER packed */
};

/* Write CHOICE, and what the other choice would use, to the draft's why. */
void plan_explain_placement(struct planner *p, unsigned i, const struct fit_in *in,
			    const struct placement_choice *choice);

/* Write the special nodes in plan_opts.mems to OUT, such as "hbm 2-3, gpu 4" ("": none). */
#define PLAN_SPECIAL_MAX 256
void plan_format_special(const struct planner *p, char out[PLAN_SPECIAL_MAX]);

/*
 * Write the chosen memory nodes to the draft's why: LOCAL of them are local; REUSED of them also
 * belong to another container.
 */
void plan_explain_mems(struct planner *p, unsigned i, unsigned local, unsigned reused);

#endif
