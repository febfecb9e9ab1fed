/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A model of the machine's memory: which NUMA node an address is on, and what a line from there
 * costs. */
#ifndef SIMLLC_MEMORY_H
#define SIMLLC_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

enum { MEMORY_NODES = 64 };

struct memory {
	unsigned nodes; /* 0: it is not known which node an address is on */
	unsigned node_cpus; /* CPUs of each node: its neighbours, by number */
	uint64_t end[MEMORY_NODES]; /* of each node: bytes of it and of all before */
	/* the model of time; all 0: none */
	int64_t miss_ns; /* a line from memory */
	int64_t remote_ns; /* what it costs more from another node */
	int64_t node_ns; /* the least time between two lines from one node */
	int64_t free_at[MEMORY_NODES]; /* when the node's controller has done its work */
};

/* How an emulator numbers memory: without a hole, RAM alone. */
enum memory_address {
	MEMORY_PHYSICAL, /* as the guest does, a q35 machine: RAM goes on at 4 GiB */
	MEMORY_DOUBLED /* QEMU 7.2 to 8.2: each node begins at twice the bytes of those before it */
};

/* The node that the address is on; -1: of none, or it is not known. */
int memory_node(const struct memory *, uint64_t address, enum memory_address);

/* Is that another node than the CPU's? */
bool memory_is_remote(const struct memory *, int node, unsigned cpu);

bool memory_has_time(const struct memory *);

/* The node's controller gets so many lines to bring at time NOW; when has it brought them? NOW: it
 * takes no time, or the node is -1. Threads may call this at the same time. */
int64_t memory_enqueue(struct memory *, int node, unsigned lines, int64_t now);

/*
 * Nanoseconds that a CPU has to stand still which had DEBT to stand before, and now gets LINES
 * lines from the node at time NOW. Latencies add up; the queue of the node's controller is waited
 * for once, whoever filled it. Threads may call this at the same time.
 */
int64_t memory_charge(struct memory *, int node, bool remote, unsigned lines, int64_t now,
		      int64_t debt);

#endif
