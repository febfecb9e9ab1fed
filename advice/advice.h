/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_ADVICE_ADVICE_H
#define NODEOS_ADVICE_ADVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "counters/classify.h"

/*
 * Which containers should be on other nodes. Pure: no file, no clock, no system call but for
 * memory. The rule is that of Clavis-HPC (Blagodurov, Fedorova): a node with two devils or more
 * sends one to an idle node, else to free CPUs beside others, else swaps it with turtles elsewhere.
 * Only devils and, in a swap, turtles move; semi-devils and containers of unknown class stay.
 *
 * What is to become small, the cost, is Clavis-HPC's as well, in thousandths:
 *   weights.devils  for each two devils on one node,
 * + weights.power   for each node that is powered now or has a container,
 * + weights.parting for each two containers of a job on two nodes, by how much both communicate.
 */
#define ADVICE_NODES_MAX 8192
#define ADVICE_CONTAINERS_MAX 65536
#define ADVICE_SWAP_MAX 4 /* turtles that a devil is swapped with: more is no advice */
#define ADVICE_STEPS_MAX 256 /* proposals at a time */
#define ADVICE_WEIGHT_MAX 1000000u
#define ADVICE_TRAFFIC_UNKNOWN UINT32_MAX /* weighs nothing */
/* thousandths of a byte for 10,000 instructions: two containers that both have so much or more
 * are a whole pair (at 10^9 instructions a second, 100 MB/s) */
#define ADVICE_TRAFFIC_FULL 1000000u
#define ADVICE_UNIT 1000 /* of costs and gains */

struct advice_weights {
	unsigned devils, power, parting; /* each up to ADVICE_WEIGHT_MAX */
};

/* 4, 1, 2: a node is powered up for a pair of devils, and a job that communicates is parted. */
extern const struct advice_weights advice_weights_default;

struct advice_node {
	unsigned cpus; /* hardware threads */
	unsigned taken; /* of them, by what is no container here; it stays */
	bool powered;
	bool open; /* may get containers: it is up, and not drained or reserved */
	uint64_t groups; /* a bit for each group (partition) that it belongs to */
};

struct advice_container {
	enum rank_class class; /* RANK_DEVIL: one that may be proposed for a move */
	unsigned node; /* index of where it is */
	unsigned cpus;
	uint32_t job; /* containers of a job may communicate */
	uint32_t traffic; /* sent and received, thousandths of a byte for 10,000 instructions */
	uint64_t groups; /* it may be on nodes that have one of these bits; 0: it stays */
};

struct advice_site {
	unsigned n_nodes, n;
	const struct advice_node *node;
	const struct advice_container *container;
	struct advice_weights weights;
};

/* How to search. */
struct advice_search {
	unsigned exact_nodes; /* sites of at most so many nodes are searched in full, */
	unsigned exact_states; /* unless they have more reachable layouts than this */
	unsigned ahead_nodes; /* up to so many nodes, a step is chosen with the one behind it */
};

/* 16 nodes, 200,000 layouts, 64 nodes. */
extern const struct advice_search advice_search_default;

enum advice_kind {
	ADVICE_IDLE, /* to a node without containers and others' jobs */
	ADVICE_ROOM, /* to free CPUs of a node that is in use */
	ADVICE_SWAP, /* with turtles, which take its place */
};

/* "idle", "room", "swap". */
const char *advice_kind_name(enum advice_kind kind);

/* A proposal: it can be done when those before it are done. */
struct advice_step {
	enum advice_kind kind;
	unsigned devil; /* index of the container */
	unsigned from, to; /* nodes */
	unsigned n_turtles, turtle[ADVICE_SWAP_MAX]; /* these go from TO to FROM */
	/* what the cost sinks by, always positive; the sum of the next three */
	int64_t gain;
	int64_t devils, power, parting; /* the parts of it; negative: it grows */
	unsigned from_devils, to_devils; /* on the two nodes, before it */
};

struct advice {
	bool exact; /* no other advice by this rule reaches a smaller cost */
	int64_t before, after; /* costs */
	unsigned n;
	struct advice_step step[ADVICE_STEPS_MAX];
};

/*
 * Write the proposals to OUT, in the order in which they are to be done. Returns 0, or -1: the site
 * is not possible (an index or a number out of its range, a node with more than its CPUs in use),
 * or memory is short; OUT then has no proposals.
 */
int advice_make(struct advice *out, const struct advice_site *site,
		const struct advice_search *search, struct errbuf *err);

/* How much two containers of a job communicate, in thousandths of a whole pair. */
unsigned advice_pair_traffic(const struct advice_container *a, const struct advice_container *b);

#endif
