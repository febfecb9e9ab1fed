/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_NUMA_MAPS_H
#define NODEOS_MIGRATION_NUMA_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/idset.h"

/*
 * Lines of /proc/PID/numa_maps and /proc/PID/maps. Users name files and mappings, so a line is
 * untrusted text; the kernel escapes line ends in names (as "\012"), and in numa_maps also blanks.
 */

#define NUMA_MAPS_NODES 1024 /* nodes in a line: the kernel's MAX_NUMNODES */
#define NUMA_MAPS_LINE (1 << 16) /* bytes: enough for a name of 16 KiB and 1024 nodes */

enum numa_policy {
	NUMA_POLICY_ANY, /* "default", "local": pages lie where their thread runs */
	NUMA_POLICY_NODES, /* "prefer", "prefer (many)", "bind": on NODES */
	NUMA_POLICY_SPREAD, /* "interleave", "weighted interleave" */
	NUMA_POLICY_UNKNOWN, /* another policy, or the kernel cut its nodes */
};

struct numa_mapping {
	uint64_t start; /* address */
	enum numa_policy policy;
	struct idset nodes;
	bool file; /* a file's mapping, or shared memory */
	bool huge; /* a mapping of hugetlbfs */
	uint64_t anon; /* number of pages that belong to no file */
	unsigned n;
	struct {
		unsigned node;
		uint64_t bytes; /* the sum over all nodes does not overflow */
	} on[NUMA_MAPS_NODES];
};

/* Parse LINE, with or without its line end. Returns 0, or -1 with the reason. */
int numa_mapping_parse(struct numa_mapping *out, const char *line, struct errbuf *err);

/* Does the policy of M allow its pages on NODE? */
bool numa_mapping_allows(const struct numa_mapping *m, unsigned node);

struct maps_extent {
	uint64_t start, end; /* addresses; START < END */
	/* private anonymous memory: heap, stack, mappings without a file; not "[vdso]" */
	bool plain;
};

/* Parse LINE of maps; its first 256 bytes are enough. Returns 0, or -1 with the reason. */
int maps_extent_parse(struct maps_extent *out, const char *line, struct errbuf *err);

#endif
