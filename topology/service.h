/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_SERVICE_H
#define NODEOS_TOPOLOGY_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/idset.h"

/*
 * The ServiceOS is the cores and memory nodes that a host keeps for its system (in the Argo paper,
 * one core and less than 5 % of the memory). Like the planner, the functions read no files.
 */

struct machine; /* topology/machine.h */

enum service_kind {
	SERVICE_NONE,
	SERVICE_PER_NODE, /* a number of cores of the node */
	SERVICE_PER_SOCKET, /* a number of cores of each package */
	SERVICE_PER_NUMA, /* a number of cores of each memory node that has CPUs */
	SERVICE_PER_L3, /* a number of cores of each L3 cache */
	SERVICE_CPUS, /* a list of CPUs */
	SERVICE_KINDS,
};

/* Return the word for KIND in "2/WORD"; NULL: KIND counts no cores. Inline for the plugin. */
static inline const char *service_unit(enum service_kind kind)
{
	static const char *const unit[SERVICE_KINDS] = { NULL, "node", "socket", "numa", "l3" };

	return unit[kind];
}

/* The site's request. */
struct service_ask {
	enum service_kind kind;
	unsigned cores; /* number of cores, for SERVICE_PER_... */
	struct idset cpus; /* the CPUs, for SERVICE_CPUS */
	bool own_mems; /* only the system uses its memory nodes; false: it shares all nodes */
	/* the system's memory nodes are the homes: what fgmn= leaves of physical nodes */
	bool homes;
	struct idset mems; /* the system's memory nodes; ignored if HOMES is set */
};

/* The ServiceOS of one machine. */
struct service_set {
	struct idset cpus; /* whole cores */
	struct idset mems; /* memory nodes that the system may use */
	bool own_mems; /* memory nodes that containers do not get */
	char except[256]; /* systemd units that may run on all CPUs: key serviceos_except */
};

/*
 * Choose the CPUs and memory nodes of ASK on M. A number of cores means the first ones in logical
 * order, since the kernel boots on the first core. Returns 0, or -1 with the reason: M lacks a CPU
 * or node, part of a core is listed (Slurm and containers take whole cores), or no core or no
 * ordinary memory node would be left.
 */
int service_choose(struct service_set *out, const struct machine *m, const struct service_ask *ask,
		   struct errbuf *err);

/*
 * Write to OUT, for CpuSpecList, Slurm's own ("abstract") numbers of the cores that have CPUS.
 * Slurm numbers threads in logical order, as if each core had as many threads as the largest core.
 * If slurm.conf gives the node no more CPUs (CPUS_OF_NODE) than it has cores, Slurm numbers cores.
 * CPUS_OF_NODE 0 means unknown: threads are numbered. Returns 0, or -1 with the reason.
 */
int service_slurm_cpus(struct idset *out, const struct machine *m, const struct idset *cpus,
		       unsigned cpus_of_node, struct errbuf *err);

/* Return the sum of the bytes of those nodes of MEMS that are ordinary (machine_ordinary()). */
uint64_t service_bytes(const struct machine *m, const struct idset *mems);

#endif
