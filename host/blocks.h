/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_BLOCKS_H
#define NODEOS_HOST_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/idset.h"

/*
 * The memory nodes of a kernel that has divided them at boot (fgmn=,
 * Documentation/admin-guide/mm/fgmn.rst of kernel/patches): blocks, which containers may have for
 * themselves, and what is left of the divided nodes, the homes, where the system is. A node that is
 * not divided counts as a block, of itself.
 */
struct block {
	unsigned node;
	unsigned home; /* the physical node that it was; itself: not divided, or a home */
	/* bytes: what its zones manage less their high watermarks, below which the kernel reclaims,
	 * and huge pages */
	uint64_t usable;
	uint64_t present; /* bytes of memory that it has */
};

struct blocks {
	bool on; /* the kernel has divided nodes; everything below is empty otherwise */
	unsigned n;
	struct block *block; /* every memory node, by number */
	struct idset homes; /* left of divided nodes */
	/* the others, of which at least half is usable: what containers may have */
	struct idset nodes;
	struct idset poor; /* of them, those of which less than nine tenths are usable */
	/* of which less than half is: the kernel, or huge pages, had them first */
	struct idset taken;
	struct idset special; /* usable, but no CPU is near them: not given to containers */
};

#define BLOCKS_FILE "blocks" /* in state_dir */

/*
 * Ask the kernel. ROOT is before "/sys" and "/proc" ("": this system; tests have another). Reads
 * all of /proc/zoneinfo, which is long on a large machine and root's: once a boot is enough.
 */
int blocks_read(struct blocks *out, const char *root, struct errbuf *err);

/* Keep what was read in the directory DIR, and load it: without BLOCKS_FILE in STATE_DIR it is
 * read. */
int blocks_save(int dir, const struct blocks *b, struct errbuf *err);
int blocks_load(struct blocks *out, const char *state_dir, const char *root, struct errbuf *err);

void blocks_free(struct blocks *b);

/* One file's look: has the kernel divided nodes? */
bool blocks_are_on(const char *root);

/* Usable bytes of NODES together. */
uint64_t blocks_usable(const struct blocks *b, const struct idset *nodes);

/*
 * The same less what is held in them now for good: slab that cannot be shrunk, stacks, page tables,
 * files in memory, and huge pages made since. What a memory controller may promise to who has them.
 */
uint64_t blocks_usable_now(const struct blocks *b, const char *root, const struct idset *nodes);

/* Of the largest of NODES. */
uint64_t blocks_largest(const struct blocks *b, const struct idset *nodes);

/* Those of NODES of which nine tenths are free, or hold what the kernel can drop, such as cached
 * files. */
void blocks_clean(const struct blocks *b, const char *root, const struct idset *nodes,
		  struct idset *out);

/* Of NODES keep those that have no memory any more. */
void blocks_gone(const struct blocks *b, const char *root, struct idset *nodes);

/* Those of NODES whose home has CPUs of CPUS. */
void blocks_near(const struct blocks *b, const char *root, const struct idset *nodes,
		 const struct idset *cpus, struct idset *out);

#endif
