/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_SERVICE_H
#define NODEOS_TOPOLOGY_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/idset.h"

/*
 * The ServiceOS: cores and memory nodes that a node keeps for its system (the paper: one core with
 * its threads, under 5 % of memory). Pure, like the planner.
 */

struct machine; /* topology/machine.h */

enum service_kind {
	SERVICE_NONE,
	SERVICE_PER_NODE, /* a number of cores of the node */
	SERVICE_PER_SOCKET, /* a number of cores of each package */
	SERVICE_CPUS, /* a list of CPUs */
};

/* The site's request. */
struct service_ask {
	enum service_kind kind;
	unsigned cores; /* number of cores for SERVICE_PER_NODE and SERVICE_PER_SOCKET */
	struct idset cpus; /* for CPUS */
	bool own_mems; /* MEMS are for the system alone; otherwise the system shares all nodes */
	/* the memory nodes are the homes: what the kernel's fgmn= leaves of the physical nodes */
	bool homes;
	struct idset mems; /* used unless HOMES is set */
};

/* The ServiceOS of one machine. */
struct service_set {
	struct idset cpus; /* whole cores */
	struct idset mems; /* memory nodes that the system may use */
	bool own_mems; /* containers do not get these memory nodes */
	char except[256]; /* units that may run everywhere, in the form of serviceos_except */
};

/*
 * Choose the CPUs and memory nodes of ASK on M. Counted cores are the first ones in logical order;
 * the kernel boots on the first core. Fails if M lacks a CPU or node, if only part of a core is
 * listed (Slurm withholds whole cores, and containers take whole cores), and if no core or no
 * ordinary memory node would be left.
 */
int service_choose(struct service_set *out, const struct machine *m, const struct service_ask *ask,
		   struct errbuf *err);

/* Return whether CPUs and memory nodes of A and B are the same. */
bool service_same(const struct service_set *a, const struct service_set *b);

/*
 * Write Slurm's own ("abstract") numbers of the cores that have CPUS, for CpuSpecList. Slurm
 * numbers in logical order: threads, as if each core had as many as the largest core; or cores, if
 * slurm.conf gives the node no more CPUs than it has cores (CPUS_OF_NODE; 0: unknown, threads are
 * numbered).
 */
int service_slurm_cpus(struct idset *out, const struct machine *m, const struct idset *cpus,
		       unsigned cpus_of_node, struct errbuf *err);

/* Return the bytes of ordinary memory (machine_ordinary()) on the nodes MEMS together. */
uint64_t service_bytes(const struct machine *m, const struct idset *mems);

#endif
