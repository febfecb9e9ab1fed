/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_MACHINE_IMPL_H
#define NODEOS_TOPOLOGY_MACHINE_IMPL_H

/* The tables behind struct machine. For the files of topology/ only. */

#include <hwloc.h>
#include <limits.h>

#include "topology/machine.h"

/* Levels of domains. A container should span few domains of each; the first level matters most. */
enum level { LEVEL_PACKAGE, LEVEL_NUMA, LEVEL_L3, LEVELS };

extern const char *const level_name[LEVELS]; /* "package", "NUMA locality", "L3" */

/*
 * info of a NUMANode: the number of its physical node (base/physical_node.h). " uniform" follows if
 * the node is one of the equal parts that a stock kernel makes
 */
#define MACHINE_INFO_HOME "NodeOSPhysicalNode"
#define MACHINE_HOME_UNIFORM " uniform"
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
	unsigned of[LEVELS]; /* for each level, the domain in which the core lies, or NONE */
};

/*
 * An object of the machine that has a level, or to which memory nodes are attached. Domains nest.
 * The array is in preorder, and element 0 is the whole machine. Domain i has the cores first_core
 * .. end_core - 1 and the inner domains i + 1 .. end - 1.
 */
struct domain {
	unsigned first_core, end_core;
	unsigned end;
	unsigned levels; /* the levels of which this is a domain, as bits 1 << enum level */
	unsigned number[LEVELS]; /* for each level, how many of its domains come before this one */
};

/* A memory node. The array is in logical order. */
struct memnode {
	unsigned os; /* number that the kernel gives the node */
	/*
	 * the kernel's number of the physical node. This is OS, except for a block (boot parameter
	 * fgmn= or numa=fake=NU)
	 */
	unsigned home;
	bool empty; /* 0 bytes, although the machine gives sizes: such nodes are ignored */
	/* added by a driver (DAX): not ordinary, unless drivers have added all memory */
	bool added;
	enum memory_kind kind;
	uint64_t bytes;
	/* bytes for requests by size: BYTES without huge pages, or the noted bytes if fewer */
	uint64_t usable;
	/* the domain or the core to which the node is local; both NONE: it is local to no core */
	unsigned domain, core;
	/* the cores to which the node is local, as a range; it may be empty */
	unsigned first_core, end_core;
	struct idset packages; /* logical numbers of the packages in which the node lies */
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
	uint64_t *latency; /* [from * n_nodes + to]; NULL: unknown */
	/* number of domains of each level; a level with 0 domains decides nothing */
	unsigned n_domains_of[LEVELS];
	unsigned n_kinds; /* 0: all cores are alike */
	/* the kinds are numbered from the slowest to the fastest */
	bool kinds_ranked;
	unsigned fastest; /* highest kind of all cores, if KINDS_RANKED */
};

/* Return whether a part of the machine below ROOT, the root object, has memory of its own. */
bool machine_parts_have_memory(hwloc_obj_t root);

/* Return the bytes that the memory node OBJ held as huge pages when the topology was read. */
uint64_t machine_huge_bytes(hwloc_obj_t obj);

/*
 * Set the kind of each memory node of M, and which nodes are ordinary. All other tables of M must
 * be filled. Returns 0, or -1 with the reason.
 */
int machine_index_memory(struct machine *m, struct errbuf *err);

/* Check TOPO for the properties that machine_index() needs. Returns 0, or -1 with the reason. */
int machine_check(hwloc_topology_t topo, struct errbuf *err);

/* Fill all tables of M from M->topo, which is loaded. Returns 0, or -1 with the reason. */
int machine_index(struct machine *m, struct errbuf *err);

#endif
