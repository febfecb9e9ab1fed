/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_NODE_MEMORY_H
#define NODEOS_MIGRATION_NODE_MEMORY_H

#include <stdint.h>

#include "base/errbuf.h"
#include "base/idset.h"

/* Bytes of a rank's anonymous memory by location. */
struct node_memory {
	uint64_t home; /* on the nodes where it should be */
	uint64_t elsewhere; /* on other nodes of its container */
	uint64_t outside; /* on nodes outside of its container: they stay */
};

/*
 * Where memory belongs. HOME: the memory nodes of a rank's CPUs. CONTAINER: all memory nodes of its
 * container, including HOME.
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
 * Returns 0, or -1 with the reason that the memory is unknown, for example because the memory
 * controller is off.
 */
int node_memory_read(struct node_memory *out, const struct node_home *where, int cgroup_fd,
		     const char *path, struct errbuf *err);

/* Like node_memory_read(), from TEXT, the content of a memory.numa_stat. */
int node_memory_parse(struct node_memory *out, const struct node_home *where, const char *text,
		      struct errbuf *err);

/*
 * Return the share of ELSEWHERE in the sum of HOME and ELSEWHERE, in thousandths, rounded up; 0 if
 * there is no memory. A rank above NODE_MEMORY_REPAIR needs a worker (page_worker.h), which then
 * continues until at most NODE_MEMORY_ENOUGH is left.
 */
unsigned node_memory_share(const struct node_memory *m);

#define NODE_MEMORY_REPAIR 200
#define NODE_MEMORY_ENOUGH 100

#endif
