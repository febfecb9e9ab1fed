/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A model of the machine's memory: the NUMA node of an address, and the cost of a line from there.
 */
#ifndef SIMLLC_MEMORY_H
#define SIMLLC_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

enum { MEMORY_NODES = 64 };

struct memory {
	unsigned nodes; /* 0: the node of an address is not known */
	unsigned node_cpus; /* CPUs of each node, with adjacent numbers */
	uint64_t end[MEMORY_NODES]; /* for each node: the bytes of it and of all nodes before */
	/* the model of time; all 0: none */
	int64_t miss_ns; /* a line from memory */
	int64_t remote_ns; /* additional time of a line from another node */
	int64_t node_ns; /* the least time between two lines from one node */
	/* for each node, the time when its controller has done its work */
	int64_t free_at[MEMORY_NODES];
};

/* How an emulator numbers the bytes of memory. */
enum memory_address {
	MEMORY_PHYSICAL, /* as the guest of a q35 machine: RAM has a hole below 4 GiB */
	MEMORY_DOUBLED /* QEMU 7.2 to 8.2: each node begins at twice the bytes of those before it */
};

/* The node of the address; -1: it is on no node, or the node is not known. */
int memory_node(const struct memory *, uint64_t address, enum memory_address);

/* Whether NODE is known and is not the node of the CPU. */
bool memory_is_remote(const struct memory *, int node, unsigned cpu);

bool memory_has_time(const struct memory *);

/*
 * Queue LINES lines at the node's controller at time NOW. Returns the time when it has brought
 * them, which is NOW if that takes no time or the node is -1. Threads may call this at the same
 * time.
 */
int64_t memory_enqueue(struct memory *, int node, unsigned lines, int64_t now);

/*
 * Add the cost of LINES lines from the node at time NOW to the DEBT of a CPU, the nanoseconds for
 * which it must be stopped; returns the new debt. Latencies add up. The debt is at least the time
 * until the node's controller has brought these lines. Threads may call this at the same time.
 */
int64_t memory_charge(struct memory *, int node, bool remote, unsigned lines, int64_t now,
		      int64_t debt);

#endif
