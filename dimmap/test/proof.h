/* SPDX-License-Identifier: GPL-2.0 */
/* The interface between the module proof.c and the program rogue.c. */
#ifndef NODEOS_DIMMAP_TEST_PROOF_H
#define NODEOS_DIMMAP_TEST_PROOF_H

#include <linux/ioctl.h>

#define PROOF_PAGES 128
/* number of spare frames, so that a freed frame is reused soon, but not at once */
#define PROOF_SPARE 16

struct proof_counts {
	unsigned long long user_faults, vma_lock_faults, evicted, batches, ptes, flushes;
};

/*
 * Unmaps pages. The lower 16 bits of the argument are the number of pages. The upper 16 bits are
 * how many pages must be resident.
 */
#define PROOF_EVICT _IO('d', 1)
#define PROOF_COUNTS _IOR('d', 2, struct proof_counts)

#endif
