/* SPDX-License-Identifier: GPL-2.0 */
/* The interface of proof.c, a module, for rogue.c, a program. */
#ifndef NODEOS_DIMMAP_TEST_PROOF_H
#define NODEOS_DIMMAP_TEST_PROOF_H

#include <linux/ioctl.h>

#define PROOF_PAGES 128
/* spare frames, so that a frame just freed is reused soon, but not immediately */
#define PROOF_SPARE 16

struct proof_counts {
	unsigned long long user_faults, vma_lock_faults, evicted, batches, ptes, flushes;
};

/*
 * Unmaps pages. The lower 16 bits of the argument are the number of pages, the upper 16 bits the
 * least number that must be resident.
 */
#define PROOF_EVICT _IO('d', 1)
#define PROOF_COUNTS _IOR('d', 2, struct proof_counts)

#endif
