/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_SHAPE_H
#define NODEOS_GUEST_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"

/* limit of QEMU's q35 with 8-bit APIC ids, which every kernel takes */
#define GUEST_CPUS_MAX 255
#define GUEST_CPUS_TEXT (4 * GUEST_CPUS_MAX + 1) /* bytes of the CPUs' numbers with blanks */
#define GUEST_NODES_MAX 64
#define GUEST_DISTANCE_LOCAL 10 /* as in ACPI's SLIT */
#define GUEST_DISTANCE_MAX 254

/*
 * A CPU of the guest is a hardware thread of the host. PACKAGE, CACHE and CORE may be any numbers;
 * equal numbers mean the same place.
 */
struct guest_cpu {
	unsigned host; /* number in the host's kernel */
	unsigned package, cache, core; /* the package, last-level cache and core it is in */
	unsigned node; /* index of a node in struct guest_shape */
	unsigned socket_id, die_id, core_id, thread_id; /* numbers in the guest */
};

struct guest_node {
	unsigned host; /* number in the host's kernel */
	uint64_t bytes; /* 0: a node of CPUs only */
};

/*
 * CPUs and memory nodes of a guest. A die of the guest is a last-level cache, because QEMU gives
 * each die one.
 */
struct guest_shape {
	struct guest_cpu cpu[GUEST_CPUS_MAX];
	unsigned cpus;
	struct guest_node node[GUEST_NODES_MAX];
	unsigned nodes;
	bool distances; /* DISTANCE is valid */
	uint8_t distance[GUEST_NODES_MAX][GUEST_NODES_MAX]; /* from, to */
	/* numbers of sockets, dies in a socket, cores in a die, threads in a core */
	unsigned sockets, dies, cores, threads;
	bool flat; /* the CPUs' places are not like the host's, see guest_shape_fit() */
};

/*
 * Order the CPUs by their places, and give them their numbers in the guest. The caller has filled
 * all else of CPUs and nodes. QEMU has the same number of threads in each core, of cores in each
 * die, and of dies in each socket. If the host's CPUs do not have that form, each becomes a core of
 * one die (FLAT). Returns 0, or -1.
 */
int guest_shape_fit(struct guest_shape *shape, struct errbuf *err);

/*
 * Divide BYTES, a multiple of PAGE, among the first MEMORY nodes of SHAPE, in equal parts of whole
 * pages; the first nodes have what is left over.
 */
int guest_shape_divide(struct guest_shape *shape, uint64_t bytes, uint64_t page, unsigned memory,
		       struct errbuf *err);

#endif
