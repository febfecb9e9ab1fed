/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_ADVICE_ADVICE_H
#define NODEOS_ADVICE_ADVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "counters/classify.h"

/*
 * Advice decides which containers should move to other nodes. It uses no file and no clock; the
 * only system calls are those of malloc(). A devil misses the cache so often that it slows down its
 * neighbours, a turtle misses it seldom (counters/classify.h). The rule is that of Clavis-HPC
 * (Blagodurov, Fedorova): a node with two or more devils sends one to an idle node, or to free CPUs
 * of another node, or swaps it with turtles. Only devils and, in a swap, turtles move; semi-devils
 * and containers of unknown class stay.
 *
 * Advice lowers the cost that Clavis-HPC defines, the sum, in thousandths, of
 *   weights.devils  for each pair of devils on one node,
 *   weights.power   for each node that is powered now or has a container,
 *   weights.parting for each pair of containers of one job on different nodes, times
 *                   advice_pair_traffic().
 */
#define ADVICE_NODES_MAX 8192
#define ADVICE_CONTAINERS_MAX 65536
#define ADVICE_SWAP_MAX 4 /* the most turtles that one devil is swapped with */
#define ADVICE_STEPS_MAX 256 /* proposals in one advice */
#define ADVICE_WEIGHT_MAX 1000000u
#define ADVICE_TRAFFIC_UNKNOWN UINT32_MAX /* counts as no traffic */
/*
 * Thousandths of a byte per 10,000 instructions. Two containers that both have at least this much
 * traffic count as a whole pair (100 MB/s at 10^9 instructions a second).
 */
#define ADVICE_TRAFFIC_FULL 1000000u
#define ADVICE_UNIT 1000 /* costs and gains are in thousandths */

struct advice_weights {
	unsigned devils, power, parting; /* each up to ADVICE_WEIGHT_MAX */
};

/*
 * devils 4, power 1, parting 2: separating two devils is worth more than the power of one node, or
 * than parting two containers of a job.
 */
extern const struct advice_weights advice_weights_default;

struct advice_node {
	unsigned cpus; /* hardware threads */
	/*
	 * the number of CPUS taken by jobs without containers in this site; these jobs never move
	 */
	unsigned taken;
	bool powered;
	/* containers may move to this node: it is up, and neither drained nor reserved */
	bool open;
	/* one bit for each group of nodes (Slurm's partition) that the node belongs to */
	uint64_t groups;
};

struct advice_container {
	enum rank_class class;
	unsigned node; /* index of the node that it is on */
	unsigned cpus;
	uint32_t job; /* containers of a job may communicate */
	uint32_t traffic; /* sent and received, in thousandths of a byte per 10,000 instructions */
	uint64_t groups; /* the container may move to nodes with one of these bits; 0: it stays */
};

struct advice_site {
	unsigned n_nodes, n;
	const struct advice_node *node;
	const struct advice_container *container;
	struct advice_weights weights;
};

/* How to search. */
struct advice_search {
	unsigned exact_nodes; /* sites of at most this number of nodes are searched in full */
	/* limit of layouts that steps reach; beyond it, steps are found one by one */
	unsigned exact_states;
	/* in other sites of up to AHEAD_NODES nodes, a step is judged with the step after it */
	unsigned ahead_nodes;
};

/* exact_nodes 16, exact_states 200,000, ahead_nodes 64. */
extern const struct advice_search advice_search_default;

enum advice_kind {
	ADVICE_IDLE, /* the devil moves to a node without any job */
	ADVICE_ROOM, /* the devil moves to free CPUs of a node that is in use */
	ADVICE_SWAP, /* the devil changes places with turtles */
};

/* "idle", "room", "swap". */
const char *advice_kind_name(enum advice_kind kind);

/* A proposal. Carry out all proposals before it first. */
struct advice_step {
	enum advice_kind kind;
	unsigned devil; /* index of the container */
	unsigned from, to; /* nodes */
	unsigned n_turtles, turtle[ADVICE_SWAP_MAX]; /* these move from TO to FROM */
	int64_t gain; /* by how much the cost falls; positive, the sum of the next three */
	/* by how much each part of the cost falls; negative: it rises */
	int64_t devils, power, parting;
	unsigned from_devils, to_devils; /* devils on the two nodes before the step */
};

struct advice {
	bool exact; /* true: no other advice by this rule reaches a smaller cost */
	int64_t before, after; /* the cost now, and after all steps */
	unsigned n;
	struct advice_step step[ADVICE_STEPS_MAX];
};

/*
 * Write the proposals to OUT, in the order in which to carry them out. Returns 0, or -1 if an index
 * or a number of SITE is out of its range, a node has more CPUs in use than it has, or memory is
 * short; OUT then has no proposals.
 */
int advice_make(struct advice *out, const struct advice_site *site,
		const struct advice_search *search, struct errbuf *err);

/*
 * Return how much two containers communicate, judged by the container with less traffic: from 0 to
 * ADVICE_UNIT, which stands for ADVICE_TRAFFIC_FULL or more. 0 for containers of different jobs.
 */
unsigned advice_pair_traffic(const struct advice_container *a, const struct advice_container *b);

#endif
