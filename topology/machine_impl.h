/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_MACHINE_IMPL_H
#define NODEOS_TOPOLOGY_MACHINE_IMPL_H

/* The tables behind struct machine: for the files of this room only. */

#include <hwloc.h>
#include <limits.h>

#include "topology/machine.h"

/* What a container should span few of, in this order. */
enum level { LEVEL_PACKAGE, LEVEL_NUMA, LEVEL_L3, LEVELS };

extern const char *const level_name[LEVELS]; /* "package", "NUMA locality", "L3" */

/* of a NUMANode: what the kernel's physical_node says */
#define MACHINE_INFO_HOME "NodeOSPhysicalNode"
/* and how much of it programs can use, see machine_note_usable */
#define MACHINE_INFO_USABLE "NodeOSUsableBytes"

#define NONE UINT_MAX /* no such index */

/*
 * A core: a Core object, or a PU that lies in none. Its threads are
 * pu[first_pu .. first_pu + n_pus - 1], in logical order.
 */
struct core {
	unsigned first_pu, n_pus;
	unsigned n_complete; /* threads with the offline ones */
	unsigned kind; /* CPU kind (performance, efficiency): 0 .. n_kinds - 1 */
	unsigned of[LEVELS]; /* the domain of each level it lies in, or NONE */
};

/*
 * An object that the objective counts (see levels) or that memory nodes hang
 * on. They nest; the array is in preorder and [0] is the machine. Cores are
 * first_core .. end_core - 1, inner domains index + 1 .. end - 1.
 */
struct domain {
	unsigned first_core, end_core;
	unsigned end;
	unsigned levels; /* bit 1 << enum level: it is a domain of that level */
	unsigned number[LEVELS]; /* how many of that level come before it */
};

/* A memory node, the array being in logical order. */
struct memnode {
	unsigned os;
	/* os of the physical node: its own, but for a block of the kernel's fgmn= */
	unsigned home;
	bool empty; /* 0 bytes, where the machine says how many at all: it counts nowhere */
	bool added; /* by a driver (DAX): never ordinary beside nodes that are not */
	enum memory_kind kind;
	uint64_t bytes;
	/* what sizes are measured by: bytes less huge pages, or what is noted */
	uint64_t usable;
	unsigned domain; /* local to the cores of this domain ... */
	unsigned core; /* ... or of this core; NONE and NONE: local to nobody */
	unsigned first_core, end_core; /* the same as cores; empty: nobody */
	struct idset packages; /* numbers of the packages it lies in */
};

struct machine {
	hwloc_topology_t topo;
	struct idset cpus, mems; /* allowed; no empty memory nodes */
	struct idset empty, ordinary; /* memory nodes of all_mems */
	struct idset all_cpus, all_mems;
	unsigned n_pus, *pu; /* ids, in logical order */
	unsigned n_cores;
	struct core *core;
	unsigned n_domains;
	struct domain *domain;
	unsigned n_nodes;
	struct memnode *node;
	uint64_t *latency; /* [from * n_nodes + to]; NULL: the machine does not tell */
	/* 0: the machine has none, the level decides nothing */
	unsigned n_domains_of[LEVELS];
	unsigned n_kinds; /* 0: all alike */
};

/* Do parts of the machine, OBJ being its root, have memory that CPUs may have as their own? */
bool machine_parts_have_memory(hwloc_obj_t root);

/* What the memory node OBJ held as huge pages when it was looked at. */
uint64_t machine_huge_bytes(hwloc_obj_t obj);

/* What the nodes of M are made of, when all else about them is known. */
int machine_index_memory(struct machine *m, struct errbuf *err);

/* Is TOPO, loaded, such that machine_index may count on it? 0, or -1 with what it is not. */
int machine_check(hwloc_topology_t topo, struct errbuf *err);

/* Fill every table of M from M->topo (loaded). */
int machine_index(struct machine *m, struct errbuf *err);

#endif
