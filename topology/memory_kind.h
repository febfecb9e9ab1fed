/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_MEMORY_KIND_H
#define NODEOS_TOPOLOGY_MEMORY_KIND_H

#include <stddef.h>

/*
 * The kind of a memory node. One kind of a machine is the ordinary one, which containers get; the
 * other kinds are special and no container gets them. machine.h says which node is of which kind,
 * doc/planner.md by which facts.
 */
enum memory_kind {
	MEMORY_DRAM,
	MEMORY_HBM, /* MCDRAM, too */
	MEMORY_SPM, /* set apart by the firmware (specific-purpose memory); its device is unknown */
	MEMORY_UNKNOWN, /* without CPUs of its own; its device is unknown */
	MEMORY_CXL,
	MEMORY_NVM,
	MEMORY_GPU,
	MEMORY_KINDS,
};

/* "dram", "hbm", "spm", "unknown", "cxl", "nvm", "gpu" */
const char *memory_kind_name(enum memory_kind kind);

#define MEMORY_KIND_BIT(kind) (1u << (kind))
#define MEMORY_KINDS_TEXT_MAX 48

/* Write the names of the kinds whose bits are set in KINDS to BUF, "dram,hbm"; returns BUF. */
const char *memory_kinds_format(char buf[MEMORY_KINDS_TEXT_MAX], unsigned kinds);

/* Parse the same text to *KINDS. Returns 0, or -1 for an unknown name or an empty text. */
int memory_kinds_parse(unsigned *kinds, const char *text);

#endif
