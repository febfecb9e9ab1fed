/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HUGEPAGES_GUEST_GIVEN_H
#define NODEOS_HUGEPAGES_GUEST_GIVEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "hugepages/reserve.h"

#define GUEST_RANKS_MAX 255 /* as in guest/agent/frames.h */
/* memory that QEMU and virtiofsd need in addition to the guest's */
#define GUEST_OUTSIDE_MIN (UINT64_C(192) << 20)
/* bytes of the options of a rank, see guest_given_options() */
#define GUEST_OPTIONS_MAX (2 * IDSET_LIST_MAX + 1024)

/*
 * What root gives the ranks of a step that share a guest (nodeos-guest): the guest's memory, and a
 * pair of sockets of slurmstepd, where the ranks meet the process that runs the guest
 * (guest/meet.h). Plain data in memory that the step's processes share.
 */
struct guest_given {
	pid_t stepd;
	uint64_t number; /* process_number() of it */
	int send, receive; /* its descriptors */
	unsigned ranks; /* 0: no rank has a guest */
	unsigned extents; /* extents of the guest's memory: one for each memory node */
	bool kvm; /* root opens /dev/kvm for the first rank */
};

/*
 * Return the bytes on each of MEMS memory nodes for a guest of MIB. They may sum up to more than
 * MIB.
 */
uint64_t guest_given_bytes(unsigned mib, unsigned mems);

/*
 * In slurmstepd: reserve the memory of the guest of G->ranks ranks, and open the sockets. The ranks
 * and bytes in ASK are those of memory nodes: one extent for each node.
 */
int guest_given_make(struct guest_given *g, struct reserve_given *memory,
		     const struct reserve_ask *ask, struct errbuf *err);

/* In rank NTH, counted from 0, as root: get its descriptors, which stay open in execve(). */
int guest_given_take(const struct guest_given *g, const struct reserve_given *memory, unsigned nth,
		     struct errbuf *err);

/*
 * Write the options with which the rank's nodeos-guest uses what guest_given_take() got, on CPUS
 * and MEMS.
 */
void guest_given_options(char buf[GUEST_OPTIONS_MAX], const struct guest_given *g,
			 const struct reserve_given *memory, const struct idset *cpus,
			 const struct idset *mems);

#endif
