/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_MACHINE_H
#define NODEOS_TOPOLOGY_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

#include "topology/memory_kind.h"
#include "topology/plan.h"

/*
 * A loaded hwloc topology, with the tables that the planner needs. After loading, only
 * machine_note_usable() and machine_note_huge_pages() change it. Unless said otherwise, functions
 * with an errbuf return 0, or -1 with the reason.
 */
struct machine;

/* Largest accepted XML of a machine, in bytes. The XML of large machines has some megabytes. */
#define MACHINE_XML_MAX (64u << 20)

/* Load this host into *OUT. The caller frees *OUT of all load functions with machine_free(). */
int machine_load_this(struct machine **out, struct errbuf *err);
/* Load this host with all its CPUs and memory nodes, even those that the caller may not use. */
int machine_load_whole(struct machine **out, struct errbuf *err);
/*
 * Load a machine from XML or from a synthetic description. Both may come from any user: hwloc reads
 * them only after machine_xml_check() or machine_synthetic_check().
 */
int machine_load_xml_file(struct machine **out, const char *path, struct errbuf *err);
int machine_load_xml_buffer(struct machine **out, const char *xml, size_t len, struct errbuf *err);
int machine_load_synthetic(struct machine **out, const char *description, struct errbuf *err);
/*
 * Load the XML file ARG if ARG has a '/' or ends in ".xml"; otherwise load ARG as a synthetic
 * description. ARG is first loaded in a separate process, so that a crash or hang of hwloc is only
 * an error.
 */
int machine_load_arg(struct machine **out, const char *arg, struct errbuf *err);
void machine_free(struct machine *m);

/* Write the topology as hwloc XML (v2 format) to PATH ("-": standard output). */
int machine_write_xml(const struct machine *m, const char *path, struct errbuf *err);

/*
 * Note in M, and so in its XML, that programs can use BYTES of memory node OS. The planner counts
 * these bytes for requests of memory by size. A node that M does not have is ignored. Returns 0, or
 * -1 if out of memory.
 */
int machine_note_usable(struct machine *m, unsigned os, uint64_t bytes);

/*
 * Subtract the present huge pages of this host from the usable bytes of M's memory nodes. M
 * describes this host, and was read from a file. ROOT is the path before "/sys", usually "".
 */
void machine_note_huge_pages(struct machine *m, const char *root);

/* Return the nodes that containers can get by default: ordinary memory, not empty. */
const struct idset *machine_ordinary(const struct machine *m);

/* Write to OUT all memory nodes of KIND, including empty ones. */
void machine_of_kind(const struct machine *m, enum memory_kind kind, struct idset *out);

/* Return the kinds of the memory nodes MEMS, as bits (MEMORY_KIND_BIT). */
unsigned machine_kinds(const struct machine *m, const struct idset *mems);

/* Return how many bytes of the memory nodes MEMS programs can use, as far as known. */
uint64_t machine_usable(const struct machine *m, const struct idset *mems);

/*
 * Write to OUT the homes. If the kernel divides a physical node into blocks (boot parameter fgmn=),
 * the rest of its memory is one more memory node, the home. Homes belong to the system: no
 * container gets them. Other machines have no homes.
 */
void machine_homes(const struct machine *m, struct idset *out);

/*
 * Return whether M's blocks are the equal parts that a stock kernel makes (numa=fake=NU). The
 * kernel also uses such blocks for itself.
 */
bool machine_uniform(const struct machine *m);

/*
 * Write to OUT the nodes that no container gets on a machine with homes: the homes, and blocks of
 * which programs can use less than half.
 */
void machine_withheld(const struct machine *m, struct idset *out);

/* Return the hwloc_topology_t of M, for hwloc's functions. It belongs to M. */
struct hwloc_topology *machine_topology(const struct machine *m);

/* Return the CPUs and memory nodes that hwloc says are allowed, without empty memory nodes. */
const struct idset *machine_cpus(const struct machine *m);
const struct idset *machine_mems(const struct machine *m);

/*
 * List the cores that hold CPUS, in logical order: *OUT is a malloc'ed array of *N entries with
 * each core's threads that lie in CPUS.
 */
int machine_cores(const struct machine *m, const struct idset *cpus, struct plan_core **out,
		  unsigned *n, struct errbuf *err);

/*
 * List the CPUs of each package, each L3 cache and each NUMA locality of M, in any order: *OUT is a
 * malloc'ed array of *N sets. On this host, host/cpu_domains.h lists the same sets.
 */
int machine_domains(const struct machine *m, struct idset **out, unsigned *n, struct errbuf *err);

/* A part of a machine in drawings: cores of one package that are near the same memory. */
struct machine_part {
	unsigned package; /* logical number of the package */
	struct idset cpus;
	struct idset mems; /* memory nodes near CPUS that no earlier part has */
};

/* List the parts of M in logical order: *OUT is a malloc'ed array of *N entries. */
int machine_parts(const struct machine *m, struct machine_part **out, unsigned *n,
		  struct errbuf *err);

#endif
