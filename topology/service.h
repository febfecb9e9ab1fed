/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_SERVICE_H
#define NODEOS_TOPOLOGY_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/idset.h"

/*
 * The ServiceOS: cores and memory nodes that a node keeps for its system (the
 * paper: one core with its threads, under 5 % of memory). Pure, as the planner.
 */

struct machine; /* topology/machine.h */

enum service_kind {
	SERVICE_NONE,
	SERVICE_PER_NODE, /* so many cores of the node */
	SERVICE_PER_SOCKET, /* so many cores of each package */
	SERVICE_CPUS, /* these CPUs */
};

/* What the site asks for. */
struct service_ask {
	enum service_kind kind;
	unsigned cores; /* of PER_NODE and PER_SOCKET */
	struct idset cpus; /* of CPUS */
	bool own_mems; /* mems are the system's alone; else it shares all of them */
	/* and they are those that the kernel's fgmn= has left of physical nodes */
	bool homes;
	struct idset mems; /* unless homes */
};

/* What that is on one machine. */
struct service_set {
	struct idset cpus; /* whole cores */
	struct idset mems; /* where the system's memory may be */
	bool own_mems; /* and nobody else's */
	char except[256]; /* units that may run everywhere, as serviceos_except has them */
};

/*
 * ASK on M. Counted cores are the first in logical order: the kernel boots on
 * them. Fails when there is no such CPU or node, a core is listed by half
 * (Slurm withholds and containers take whole ones), or no core or no ordinary
 * memory node would be left.
 */
int service_choose(struct service_set *out, const struct machine *m, const struct service_ask *ask,
		   struct errbuf *err);

/* Are these the same CPUs and memory nodes? */
bool service_same(const struct service_set *a, const struct service_set *b);

/*
 * Slurm's own ("abstract") numbers of the cores that hold CPUS, for CpuSpecList, in logical order:
 * of threads, a core having as many as the largest; or of cores where slurm.conf gives the node no
 * more CPUs than it has cores (CPUS_OF_NODE; 0: not known, threads).
 */
int service_slurm_cpus(struct idset *out, const struct machine *m, const struct idset *cpus,
		       unsigned cpus_of_node, struct errbuf *err);

/* Memory of the ordinary kind (machine_ordinary) on the nodes MEMS together, in bytes. */
uint64_t service_bytes(const struct machine *m, const struct idset *mems);

#endif
