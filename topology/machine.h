/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_MACHINE_H
#define NODEOS_TOPOLOGY_MACHINE_H

#include <stddef.h>

#include "topology/memory_kind.h"
#include "topology/plan.h"

/* A loaded hwloc topology with the tables that the planner needs. Immutable. */
struct machine;

/* Bytes that a machine's XML may have; the largest machines have some megabytes. */
#define MACHINE_XML_MAX (64u << 20)

/* Load this host into *OUT, as the functions below do. The caller frees it with machine_free(). */
int machine_load_this(struct machine **out, struct errbuf *err);
/* Load this host with all CPUs and memory nodes, whatever the caller's cgroup allows. */
int machine_load_whole(struct machine **out, struct errbuf *err);
/*
 * The XML text or description may come from any user: hwloc gets it only after machine_xml_check()
 * or machine_synthetic_check().
 */
int machine_load_xml_file(struct machine **out, const char *path, struct errbuf *err);
int machine_load_xml_buffer(struct machine **out, const char *xml, size_t len, struct errbuf *err);
int machine_load_synthetic(struct machine **out, const char *description, struct errbuf *err);
/*
 * Load FILE.xml (ARG contains '/' or ends in ".xml") or a synthetic description, first in a process
 * of its own, whose crash or hang is an error.
 */
int machine_load_arg(struct machine **out, const char *arg, struct errbuf *err);
void machine_free(struct machine *m);

/* Write the topology as hwloc XML (v2 format) to PATH ("-": standard output). */
int machine_write_xml(const struct machine *m, const char *path, struct errbuf *err);

/*
 * Note in M, and so in its XML, that programs can use BYTES of memory node OS: the planner counts
 * these bytes if a request gives memory by size. Nodes that M does not have are ignored. Returns 0,
 * or -1 when out of memory.
 */
int machine_note_usable(struct machine *m, unsigned os, uint64_t bytes);

/*
 * Subtract the huge pages that the kernel holds now from the usable bytes of M's memory nodes. M
 * was read from a file and describes this host. ROOT is the path before "/sys" ("": this host).
 */
void machine_note_huge_pages(struct machine *m, const char *root);

/* Return the memory nodes that containers can get: of the ordinary kind, without empty nodes. */
const struct idset *machine_ordinary(const struct machine *m);

/* Write all memory nodes of KIND, including empty ones. */
void machine_of_kind(const struct machine *m, enum memory_kind kind, struct idset *out);

/* Return the kinds of the memory nodes MEMS, as bits (MEMORY_KIND_BIT). */
unsigned machine_kinds(const struct machine *m, const struct idset *mems);

/* Return the bytes of the memory nodes MEMS that programs can use, as far as known. */
uint64_t machine_usable(const struct machine *m, const struct idset *mems);

/*
 * Write the homes: memory nodes with what the kernel leaves of physical nodes that it divides into
 * blocks (fgmn=). They belong to the system, and no container gets them. Other machines have none.
 */
void machine_homes(const struct machine *m, struct idset *out);

/*
 * Write all nodes that no container gets on a machine with homes: these homes, and blocks of which
 * less than half can be used.
 */
void machine_withheld(const struct machine *m, struct idset *out);

/* Return the CPUs and memory nodes of hwloc's allowed sets, without empty nodes. */
const struct idset *machine_cpus(const struct machine *m);
const struct idset *machine_mems(const struct machine *m);

/*
 * List the cores that hold CPUS, in logical order: *OUT is a malloc'ed array of *N entries with
 * each core's threads that lie in CPUS.
 */
int machine_cores(const struct machine *m, const struct idset *cpus, struct plan_core **out,
		  unsigned *n, struct errbuf *err);

/*
 * List the CPUs of the packages, the L3 caches and the parts of M that are near the same memory, in
 * any order: *OUT is a malloc'ed array of *N sets. On this host host/cpu_domains.h lists the same.
 */
int machine_domains(const struct machine *m, struct idset **out, unsigned *n, struct errbuf *err);

/* Cores that are near the same memory, in one package: the unit in which a machine is drawn. */
struct machine_part {
	unsigned package; /* by logical number */
	struct idset cpus;
	struct idset mems; /* nodes near CPUS; a node near several parts is in the first only */
};

/* List the parts of M in logical order: *OUT is a malloc'ed array of *N entries. */
int machine_parts(const struct machine *m, struct machine_part **out, unsigned *n,
		  struct errbuf *err);

#endif
