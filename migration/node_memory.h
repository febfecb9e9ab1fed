/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_NODE_MEMORY_H
#define NODEOS_MIGRATION_NODE_MEMORY_H

#include <stdint.h>

#include "base/errbuf.h"
#include "base/idset.h"

/* Bytes of anonymous memory of a rank, by where they lie. */
struct node_memory {
	uint64_t home; /* on the nodes where it should be */
	uint64_t elsewhere; /* on other nodes that its container has */
	uint64_t outside; /* on nodes that its container has not: they stay */
};

/*
 * Where memory belongs. The nodes HOME are those of a rank's CPUs, blocks of memory (fgmn) of that
 * socket included; CONTAINER has all nodes of its container, HOME too.
 */
struct node_home {
	struct idset home, container;
};

/* Add BYTES of NODE to OUT; no sum exceeds UINT64_MAX. */
void node_memory_add(struct node_memory *out, const struct node_home *where, unsigned node,
		     uint64_t bytes);

/*
 * Read the anonymous memory of all processes in PATH and below from its memory.numa_stat; takes no
 * lock of an address space. Shared memory (tmpfs, System V) counts as file there and is left out.
 * Returns 0, or -1 with the reason: the memory is unknown, for example where the memory controller
 * is off.
 */
int node_memory_read(struct node_memory *out, const struct node_home *where, int cgroup_fd,
		     const char *path, struct errbuf *err);

/* The same of TEXT, a memory.numa_stat. */
int node_memory_parse(struct node_memory *out, const struct node_home *where, const char *text,
		      struct errbuf *err);

/*
 * Thousandths of HOME and ELSEWHERE together that lie elsewhere, rounded up; 0 of nothing. A rank
 * above NODE_MEMORY_REPAIR needs a worker (page_worker.h), which then goes on until no more than
 * NODE_MEMORY_ENOUGH are left.
 */
unsigned node_memory_share(const struct node_memory *m);

#define NODE_MEMORY_REPAIR 200
#define NODE_MEMORY_ENOUGH 100

#endif
