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

/* Where to load it from. The caller frees with machine_free(). */
int machine_load_this(struct machine **out, struct errbuf *err);
/* This machine with everything allowed, whatever the caller's cgroup leaves it. */
int machine_load_whole(struct machine **out, struct errbuf *err);
/* XML and descriptions may be anybody's: hwloc gets them after machine_xml_check and
 * machine_synthetic_check. */
int machine_load_xml_file(struct machine **out, const char *path, struct errbuf *err);
int machine_load_xml_buffer(struct machine **out, const char *xml, size_t len, struct errbuf *err);
int machine_load_synthetic(struct machine **out, const char *description, struct errbuf *err);
/*
 * FILE.xml (contains '/' or ends in ".xml") or a synthetic description, first in a process of its
 * own: where it crashes or hangs even so, that is the error.
 */
int machine_load_arg(struct machine **out, const char *arg, struct errbuf *err);
void machine_free(struct machine *m);

/* Write the topology as hwloc XML (v2 format) to PATH ("-": standard output). */
int machine_write_xml(const struct machine *m, const char *path, struct errbuf *err);

/*
 * Note in M, and so in its XML, that programs can use BYTES of memory node OS: the planner counts
 * them where memory is asked by size. Nodes that M does not have are ignored. 0, or -1 when out of
 * memory.
 */
int machine_note_usable(struct machine *m, unsigned os, uint64_t bytes);

/*
 * M was read from a file and describes this system (ROOT is before "/sys", "": here): leave out of
 * what its memory nodes have for programs what the kernel holds as huge pages now.
 */
void machine_note_huge_pages(struct machine *m, const char *root);

/* The memory nodes that containers get: of the machine's ordinary kind, and none that is empty. */
const struct idset *machine_ordinary(const struct machine *m);

/* All memory nodes of KIND, empty ones, too. */
void machine_of_kind(const struct machine *m, enum memory_kind kind, struct idset *out);

/* Bits of the kinds that the memory nodes MEMS are of (MEMORY_KIND_BIT). */
unsigned machine_kinds(const struct machine *m, const struct idset *mems);

/* Bytes of the memory nodes MEMS that programs can use, as far as it is known. */
uint64_t machine_usable(const struct machine *m, const struct idset *mems);

/*
 * What the kernel has left of the physical nodes that it has divided into blocks (fgmn=): the
 * system's memory, which no container is given. Empty on other machines.
 */
void machine_homes(const struct machine *m, struct idset *out);

/* The same and blocks of which less than half can be used: what no container is given on such a
 * machine. */
void machine_withheld(const struct machine *m, struct idset *out);

/* All CPUs and memory nodes that this machine allows (hwloc's allowed sets), but no empty nodes. */
const struct idset *machine_cpus(const struct machine *m);
const struct idset *machine_mems(const struct machine *m);

/*
 * The cores that hold CPUS, in logical order: *OUT is a malloc'ed array of *N
 * entries, each core's threads that lie in CPUS.
 */
int machine_cores(const struct machine *m, const struct idset *cpus, struct plan_core **out,
		  unsigned *n, struct errbuf *err);

/* Cores that are near the same memory, in one package: how a machine is drawn. */
struct machine_part {
	unsigned package; /* by logical number */
	struct idset cpus;
	struct idset mems; /* theirs; one that is near several parts is the first's */
};

/* The parts of M in logical order: *OUT is a malloc'ed array of *N entries. */
int machine_parts(const struct machine *m, struct machine_part **out, unsigned *n,
		  struct errbuf *err);

#endif
