/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_BLOCKS_H
#define NODEOS_HOST_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "base/physical_node.h"

/*
 * Memory nodes of a kernel that has divided them at boot (parameter fgmn= of kernel/patches, or
 * numa=fake=NU of a stock kernel): blocks, which a container can have for itself, and homes, the
 * rest of each divided node, for the system. An undivided node counts as one block.
 */
struct block {
	unsigned node;
	/* physical node of which NODE is a part; NODE itself if NODE is undivided or a home */
	unsigned home;
	/*
	 * bytes that its zones manage, minus huge pages and the high watermarks, below which the
	 * kernel reclaims
	 */
	uint64_t usable;
	uint64_t present; /* bytes of its memory */
};

struct blocks {
	bool on; /* the kernel has divided nodes; if not, all members below are empty */
	enum node_division how; /* by NODES_FAKE the kernel uses blocks for itself, too */
	unsigned n;
	struct block *block; /* all memory nodes, by number */
	struct idset homes; /* the rests of divided nodes */
	/* nodes for containers: neither homes, taken nor special */
	struct idset nodes;
	struct idset poor; /* subset of nodes: blocks of which less than nine tenths are usable */
	/*
	 * blocks of which less than half is usable, because the kernel or huge pages took the rest
	 */
	struct idset taken;
	struct idset special; /* usable, but without a near CPU: not for containers */
};

#define BLOCKS_FILE "blocks" /* in state_dir */

/*
 * Read the kernel's files. ROOT is the path before "/sys" and "/proc" ("": this system, or a test's
 * tree). Reads all of /proc/zoneinfo, which only root may read and which is long on a large
 * machine, so call it once for each boot.
 */
int blocks_read(struct blocks *out, const char *root, struct errbuf *err);

/*
 * blocks_save() writes the blocks to BLOCKS_FILE in the directory DIR. blocks_load() reads them
 * from STATE_DIR or, if that has no valid file, from the kernel.
 */
int blocks_save(int dir, const struct blocks *b, struct errbuf *err);
int blocks_load(struct blocks *out, const char *state_dir, const char *root, struct errbuf *err);

void blocks_free(struct blocks *b);

/* Return whether the kernel has divided nodes; reads few files. */
bool blocks_are_on(const char *root);

/* Return the sum of the usable bytes of NODES. */
uint64_t blocks_usable(const struct blocks *b, const struct idset *nodes);

/*
 * Return blocks_usable() minus the memory that cannot be reclaimed now: unreclaimable slab, stacks,
 * page tables, files in memory, and huge pages made since the boot. A memory controller may promise
 * this amount to a container with NODES.
 */
uint64_t blocks_usable_now(const struct blocks *b, const char *root, const struct idset *nodes);

/* Return the usable bytes of the largest of NODES. */
uint64_t blocks_largest(const struct blocks *b, const struct idset *nodes);

/*
 * Write to OUT those of NODES of which at least nine tenths are free or droppable pages, such as
 * cached files.
 */
void blocks_clean(const struct blocks *b, const char *root, const struct idset *nodes,
		  struct idset *out);

/* Remove from NODES all nodes that still have memory. */
void blocks_gone(const struct blocks *b, const char *root, struct idset *nodes);

/* Write to OUT the nodes of NODES whose home has some of CPUS. */
void blocks_near(const struct blocks *b, const char *root, const struct idset *nodes,
		 const struct idset *cpus, struct idset *out);

#endif
