/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that QEMU's plugin writes and the guest's module reads, except for one word that the
 * module writes: BAR 2 of an ivshmem-plain device, little endian. A header of SIMLLC_HEAD bytes,
 * then for each vCPU a record of SIMLLC_RECORD bytes: __u64 count[SIMLLC_COUNTERS][2], for user and
 * for kernel code. Only the vCPU's own thread writes its record. Counters do not overlap, so an
 * event is a set of counters, and its count is their sum.
 */
#ifndef SIMLLC_ABI_H
#define SIMLLC_ABI_H

#include <linux/types.h>

#define SIMLLC_MAGIC 0x434c4c53u /* "SLLC" */
#define SIMLLC_VERSION 1
#define SIMLLC_HEAD 4096
#define SIMLLC_RECORD 256
#define SIMLLC_CPUS 256
#define SIMLLC_BYTES 0x100000 /* bytes of the BAR, a power of two */

enum simllc_counter {
	SIMLLC_INSTRUCTIONS,
	SIMLLC_REFERENCES, /* accesses that the first-level cache does not answer */
	SIMLLC_STALL_NS, /* nanoseconds for which the model of time stopped the vCPU */
	SIMLLC_FILLS, /* lines from memory: 8 counters, SIMLLC_FILLS + simllc_fill bits */
	SIMLLC_COUNTERS = SIMLLC_FILLS + 8
};

enum simllc_fill {
	SIMLLC_REMOTE = 1, /* from the memory of another NUMA node than that of the vCPU */
	SIMLLC_WRITE = 2, /* for a store, not a load */
	SIMLLC_PREFETCH = 4 /* by the cache's prefetcher, at a miss of a user or kernel access */
};

struct simllc_head {
	__u32 magic;
	__u32 version;
	__u32 cpus;
	__u32 cpus_per_cache;
	__u32 line; /* bytes */
	__u32 ways;
	__u64 sets; /* simulated sets: one in 2^sample of the cache's */
	__u32 sample;
	__u32 prefetch;
	__u32 has_time; /* written by the module: 1 while it is loaded, and misses cost time */
};

#endif
