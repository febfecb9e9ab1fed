/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_MACHINE_IMPL_H
#define NODEOS_TOPOLOGY_MACHINE_IMPL_H

/* The tables behind struct machine: for the files of this room only. */

#include <hwloc.h>
#include <limits.h>

#include "topology/machine.h"

/* Levels at which a container should span few domains, the most important level first. */
enum level { LEVEL_PACKAGE, LEVEL_NUMA, LEVEL_L3, LEVELS };

extern const char *const level_name[LEVELS]; /* "package", "NUMA locality", "L3" */

/* info of a NUMANode: its physical node, from the kernel's file physical_node */
#define MACHINE_INFO_HOME "NodeOSPhysicalNode"
/* info of a NUMANode: the bytes that programs can use, see machine_note_usable() */
#define MACHINE_INFO_USABLE "NodeOSUsableBytes"

#define NONE UINT_MAX /* no such index */

/*
 * A core: a Core object, or a PU outside every Core. Its threads are pu[first_pu .. first_pu +
 * n_pus - 1], in logical order.
 */
struct core {
	unsigned first_pu, n_pus;
	unsigned n_complete; /* number of threads, including offline ones */
	unsigned kind; /* CPU kind (performance, efficiency): 0 .. n_kinds - 1 */
	unsigned of[LEVELS]; /* for each level, the domain that the core lies in, or NONE */
};

/*
 * An object that the objective counts (see levels) or that memory nodes are attached to. Domains
 * nest; the array is in preorder, and [0] is the machine. Cores are first_core .. end_core - 1,
 * inner domains index + 1 .. end - 1.
 */
struct domain {
	unsigned first_core, end_core;
	unsigned end;
	unsigned levels; /* bit 1 << enum level: it is a domain of that level */
	unsigned number[LEVELS]; /* number of domains of that level before this domain */
};

/* A memory node. The array is in logical order. */
struct memnode {
	unsigned os;
	/* OS of the physical node: the OS above, except for a block of the kernel's fgmn= */
	unsigned home;
	bool empty; /* 0 bytes, on a machine that gives sizes: such a node never counts */
	/* added by a driver (DAX): not ordinary on a machine that has nodes of another origin */
	bool added;
	enum memory_kind kind;
	uint64_t bytes;
	/* bytes that count for requests by size: all bytes without huge pages, or the noted ones */
	uint64_t usable;
	unsigned domain; /* local to the cores of this domain ... */
	unsigned core; /* ... or of this core; both NONE: local to no core */
	/* the cores to which the node is local, as a range; empty: none */
	unsigned first_core, end_core;
	struct idset packages; /* logical numbers of the packages that the node lies in */
};

struct machine {
	hwloc_topology_t topo;
	struct idset cpus, mems; /* allowed, without empty memory nodes */
	struct idset empty, ordinary; /* subsets of all_mems */
	struct idset all_cpus, all_mems;
	unsigned n_pus, *pu; /* ids, in logical order */
	unsigned n_cores;
	struct core *core;
	unsigned n_domains;
	struct domain *domain;
	unsigned n_nodes;
	struct memnode *node;
	uint64_t *latency; /* [from * n_nodes + to]; NULL: the machine does not say */
	/* number of domains of each level; 0: the level decides nothing */
	unsigned n_domains_of[LEVELS];
	unsigned n_kinds; /* 0: all cores are alike */
	/* kinds are numbered from the slowest to the fastest, and each core has one */
	bool kinds_ranked;
	unsigned fastest; /* the highest kind of a core, if they are ranked */
};

/*
 * Return whether parts of the machine with the root object ROOT have memory that is local to their
 * CPUs.
 */
bool machine_parts_have_memory(hwloc_obj_t root);

/* Return the bytes that the memory node OBJ held as huge pages when the topology was read. */
uint64_t machine_huge_bytes(hwloc_obj_t obj);

/*
 * Set the kinds of M's memory nodes, and which of them are ordinary, once all other tables are
 * filled.
 */
int machine_index_memory(struct machine *m, struct errbuf *err);

/* Check TOPO for the properties that machine_index() needs. Returns 0, or -1 with the reason. */
int machine_check(hwloc_topology_t topo, struct errbuf *err);

/* Fill every table of M from M->topo, which is loaded. */
int machine_index(struct machine *m, struct errbuf *err);

#endif
