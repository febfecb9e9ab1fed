/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A model of the machine's memory: the NUMA node of an address, and the time to read a line. */
#ifndef SIMLLC_MEMORY_H
#define SIMLLC_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

enum { MEMORY_NODES = 64 };

struct memory {
	unsigned nodes; /* 0: the node of an address is not known */
	unsigned node_cpus; /* CPUs of each node, with adjacent numbers */
	uint64_t end[MEMORY_NODES]; /* for each node: bytes of this and all previous nodes */
	/* the model of time, in ns; if all are 0, nothing takes time */
	int64_t miss_ns; /* time for a line from memory */
	int64_t remote_ns; /* additional time for a line from another node */
	int64_t node_ns; /* the least time between two lines from one node */
	/* for each node, the time when its controller will have brought all queued lines */
	int64_t free_at[MEMORY_NODES];
};

/* How QEMU numbers the bytes of RAM. */
enum memory_address {
	MEMORY_PHYSICAL, /* physical addresses of the guest: a q35 has a hole below 4 GiB */
	MEMORY_DOUBLED /* QEMU 7.2 to 8.2: each node begins at twice the size of all earlier ones */
};

/* Return the node of the address, or -1 if the address is on no node or the nodes are not known. */
int memory_node(const struct memory *, uint64_t address, enum memory_address);

/* Return whether NODE is known and is not the node of the CPU. */
bool memory_is_remote(const struct memory *, int node, unsigned cpu);

bool memory_has_time(const struct memory *);

/*
 * Queue LINES lines at the node's controller at time NOW. Returns the time when the controller will
 * have brought them. This is NOW if the node is -1 or if nothing takes time. Threads may call this
 * at the same time.
 */
int64_t memory_enqueue(struct memory *, int node, unsigned lines, int64_t now);

/*
 * Add the time for LINES lines, which a CPU reads from the node at time NOW, to DEBT, the
 * nanoseconds for which the CPU must still be stopped. Returns the new debt: latencies are added,
 * and the debt is at least the time until the node's controller has brought these lines. Threads
 * may call this at the same time.
 */
int64_t memory_charge(struct memory *, int node, bool remote, unsigned lines, int64_t now,
		      int64_t debt);

#endif
