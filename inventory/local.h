/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_INVENTORY_LOCAL_H
#define NODEOS_INVENTORY_LOCAL_H

#include <sys/types.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "inventory/record.h"

/*
 * The memory nodes of a host, for moving the pages of restored processes. CRIU leaves the pages on
 * the nodes of the CPUs on which it has read them. If the CPUs of all threads of a process are on
 * one memory node, the pages of the process belong on that node.
 */
struct move_nodes {
	unsigned n;
	unsigned *id; /* number of each memory node that has CPUs; owned */
	struct idset *cpus; /* the CPUs of ID of the same index; owned */
	struct idset memory; /* all nodes with memory */
};

/*
 * Read the nodes below DIR, a descriptor of "/sys/devices/system/node". After success the caller
 * calls move_nodes_free(). Returns 0, or -1 with the reason.
 */
int move_nodes_read(struct move_nodes *out, int dir, struct errbuf *err);
void move_nodes_free(struct move_nodes *n);

/* Return the node that has memory and all of CPUS; -1: there is none, or CPUS is empty. */
int move_nodes_home(const struct move_nodes *n, const struct idset *cpus);

/*
 * Move the pages of each process of the restored tree of INIT to the node of its CPUs, once.
 * Processes with a memory policy in R, processes with CPUs of several nodes, and pages that several
 * processes map are left out. The tree must be held, because its users could make a move of their
 * pages wait for ever.
 *
 * A child process moves the pages, and this function waits for it for at most SECONDS. The kernel
 * could let the child wait for ever: it frees pages that are set aside on a CPU only when that CPU
 * is not busy with a real-time program.
 */
void move_pages_home(const struct move_record *r, pid_t init, unsigned seconds);

#endif
