/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_MEMORY_KIND_H
#define NODEOS_TOPOLOGY_MEMORY_KIND_H

#include <stddef.h>

/*
 * The kind of a memory node. On each machine one kind is ordinary: containers get it by default.
 * The other kinds are special: only containers that name such a kind get it. doc/planner.md has the
 * rules; machine.h gives the kind of each node.
 */
enum memory_kind {
	MEMORY_DRAM,
	MEMORY_HBM, /* includes MCDRAM */
	MEMORY_SPM, /* specific-purpose memory: reserved by the firmware, of an unknown device */
	MEMORY_UNKNOWN, /* a node without CPUs, of an unknown device */
	MEMORY_CXL,
	MEMORY_NVM,
	MEMORY_GPU,
	MEMORY_KINDS,
};

/* Return the name of KIND: "dram", "hbm", "spm", "unknown", "cxl", "nvm" or "gpu". */
const char *memory_kind_name(enum memory_kind kind);

/* Return the kind with the name NAME, or -1 if there is none. */
int memory_kind_by_name(const char *name);

#define MEMORY_KIND_BIT(kind) (1u << (kind))
#define MEMORY_KINDS_TEXT_MAX 48

/* Write the names of the kinds whose bits are set in KINDS to BUF, as "dram,hbm". Returns BUF. */
const char *memory_kinds_format(char buf[MEMORY_KINDS_TEXT_MAX], unsigned kinds);

/* Parse the text of memory_kinds_format(). Returns 0, or -1 for an unknown name or empty text. */
int memory_kinds_parse(unsigned *kinds, const char *text);

#endif
