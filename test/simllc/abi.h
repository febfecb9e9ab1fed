/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The layout of the memory that QEMU's plugin shares with the guest's module: BAR 2 of an
 * ivshmem-plain device, little endian. The plugin writes, and the module reads; only has_time is
 * written by the module. A header of SIMLLC_HEAD bytes comes first. Then each vCPU has a record of
 * SIMLLC_RECORD bytes, __u64 count[SIMLLC_COUNTERS][2], for user and kernel code, which only the
 * thread of that vCPU writes. Counters do not overlap, so an event is a set of counters, and its
 * count is their sum. Then each vCPU has a ring with its latest misses, one in SIMLLC_EVERY.
 */
#ifndef SIMLLC_ABI_H
#define SIMLLC_ABI_H

#include <linux/types.h>

#define SIMLLC_MAGIC 0x434c4c53u /* "SLLC" */
#define SIMLLC_VERSION 2
#define SIMLLC_HEAD 4096
#define SIMLLC_RECORD 256
#define SIMLLC_CPUS 256
#define SIMLLC_RINGS (SIMLLC_HEAD + SIMLLC_CPUS * SIMLLC_RECORD)
#define SIMLLC_BYTES 0x100000 /* bytes of the BAR, a power of two */
#define SIMLLC_EVERY 509 /* a prime: samples of an array with any stride are from all its parts */
#define SIMLLC_RING_MISSES 64 /* a power of two */

enum simllc_counter {
	SIMLLC_INSTRUCTIONS,
	SIMLLC_REFERENCES, /* accesses that miss the first-level cache */
	SIMLLC_STALL_NS, /* nanoseconds for which the model of time has stopped the vCPU */
	SIMLLC_FILLS, /* lines from memory: 8 counters, SIMLLC_FILLS + simllc_fill bits */
	SIMLLC_COUNTERS = SIMLLC_FILLS + 8
};

enum simllc_fill {
	SIMLLC_REMOTE = 1, /* from the memory of another NUMA node than the vCPU's */
	SIMLLC_WRITE = 2, /* for a store; otherwise for a load */
	SIMLLC_PREFETCH = 4 /* fetched by the prefetcher, after a miss of a user or kernel access */
};

#define SIMLLC_KERNEL 8 /* the miss is of kernel code */

/* The ring of a vCPU. N is how many misses were written in all; the last is miss[(N - 1) % 64]. */
struct simllc_ring {
	__u64 n;
	/* the line's virtual address; its low bits have simllc_fill and SIMLLC_KERNEL */
	__u64 miss[SIMLLC_RING_MISSES];
	__u64 unused[7]; /* no two rings share a cache line of the host */
};

struct simllc_head {
	__u32 magic;
	__u32 version;
	__u32 cpus;
	__u32 cpus_per_cache;
	__u32 line; /* bytes */
	__u32 ways;
	__u64 sets; /* one in 2^sample sets of the cache is simulated */
	__u32 sample;
	__u32 prefetch;
	/*
	 * The module writes 1 when it is loaded and 0 when it is removed. Misses cost time only
	 * while 1.
	 */
	__u32 has_time;
};

#endif
