/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_BLOCKS_H
#define NODEOS_HOST_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/idset.h"

/*
 * Memory nodes of a kernel that has divided them at boot (fgmn=,
 * Documentation/admin-guide/mm/fgmn.rst of kernel/patches): blocks, which a container may have for
 * itself, and homes, the rest of each divided node, which the system uses. An undivided node counts
 * as a block of itself.
 */
struct block {
	unsigned node;
	/* the physical node that it is part of; its own number for an undivided node or a home */
	unsigned home;
	/*
	 * bytes that its zones manage, less huge pages and less the high watermarks, below which
	 * the kernel reclaims
	 */
	uint64_t usable;
	uint64_t present; /* bytes of its memory */
};

struct blocks {
	bool on; /* the kernel has divided nodes; otherwise all below is empty */
	unsigned n;
	struct block *block; /* every memory node, by number */
	struct idset homes; /* rests of divided nodes */
	/* other nodes of which at least half is usable: containers may have these */
	struct idset nodes;
	struct idset poor; /* subset of nodes: blocks of which less than nine tenths are usable */
	/*
	 * blocks of which less than half is usable, as the kernel or huge pages took the rest first
	 */
	struct idset taken;
	struct idset special; /* usable, but no CPU is near: containers do not get these */
};

#define BLOCKS_FILE "blocks" /* in state_dir */

/*
 * Ask the kernel. ROOT is the path before "/sys" and "/proc" ("": this system; a test's tree
 * otherwise). Reads all of /proc/zoneinfo, which only root may read and which is long on a large
 * machine: once a boot is enough.
 */
int blocks_read(struct blocks *out, const char *root, struct errbuf *err);

/*
 * Write the blocks to a file in the directory DIR, and load them: blocks_load() reads the kernel
 * when STATE_DIR has no BLOCKS_FILE.
 */
int blocks_save(int dir, const struct blocks *b, struct errbuf *err);
int blocks_load(struct blocks *out, const char *state_dir, const char *root, struct errbuf *err);

void blocks_free(struct blocks *b);

/* Return whether the kernel has divided nodes; reads one file. */
bool blocks_are_on(const char *root);

/* Return the usable bytes of NODES together. */
uint64_t blocks_usable(const struct blocks *b, const struct idset *nodes);

/*
 * Return blocks_usable() minus what cannot be reclaimed now: unreclaimable slab, stacks, page
 * tables, files in memory, and huge pages made since the boot. A memory controller may promise that
 * much to a container with NODES.
 */
uint64_t blocks_usable_now(const struct blocks *b, const char *root, const struct idset *nodes);

/* Return the usable bytes of the largest of NODES. */
uint64_t blocks_largest(const struct blocks *b, const struct idset *nodes);

/*
 * Write those of NODES of which nine tenths are free or hold droppable pages, such as cached files.
 */
void blocks_clean(const struct blocks *b, const char *root, const struct idset *nodes,
		  struct idset *out);

/* Keep only those of NODES that have lost their memory. */
void blocks_gone(const struct blocks *b, const char *root, struct idset *nodes);

/* Write the nodes of NODES whose home has CPUs of CPUS. */
void blocks_near(const struct blocks *b, const char *root, const struct idset *nodes,
		 const struct idset *cpus, struct idset *out);

#endif
