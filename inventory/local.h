/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_INVENTORY_LOCAL_H
#define NODEOS_INVENTORY_LOCAL_H

#include <sys/types.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "inventory/record.h"

/*
 * The memory of restored processes lies on the nodes of the CPUs on which CRIU has read it. If all
 * threads of a process may use CPUs of one memory node only, its pages belong on that node.
 */
struct move_nodes {
	unsigned n;
	unsigned *id; /* number of each memory node that has CPUs; owned */
	struct idset *cpus; /* its CPUs; owned */
	struct idset memory; /* all nodes with memory */
};

/* Read the nodes below DIR, an open "/sys/devices/system/node". The caller frees *OUT. Returns 0,
 * or -1 with the reason. */
int move_nodes_read(struct move_nodes *out, int dir, struct errbuf *err);
void move_nodes_free(struct move_nodes *n);

/* Return the node that has all CPUS, and memory; -1: there is none, or no CPU. Pure. */
int move_nodes_home(const struct move_nodes *n, const struct idset *cpus);

/*
 * Move the pages of each process of the restored tree of INIT to the node of its CPUs, once. Left
 * out are processes with a memory policy in R, pages that several processes map, and processes with
 * CPUs of several nodes. The tree must be held, as its users could make a move of their pages wait
 * for ever. The work is done in a process of its own, which is left alone after SECONDS: on a CPU
 * that a real-time program never leaves, the kernel cannot free the pages that it has set aside
 * there, and would wait.
 */
void move_pages_home(const struct move_record *r, pid_t init, unsigned seconds);

#endif
