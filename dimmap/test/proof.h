/* SPDX-License-Identifier: GPL-2.0 */
/* The interface of proof.c, a module, for rogue.c, a program. */
#ifndef NODEOS_DIMMAP_TEST_PROOF_H
#define NODEOS_DIMMAP_TEST_PROOF_H

#include <linux/ioctl.h>

#define PROOF_PAGES 128
/* spare frames: a frame just freed is reused soon, but not next */
#define PROOF_SPARE 16

struct proof_counts {
	unsigned long long user_faults, vma_lock_faults, evicted, batches, ptes, flushes;
};

/* unmaps that many pages; the upper 16 bits are the least number that must be resident */
#define PROOF_EVICT _IO('d', 1)
#define PROOF_COUNTS _IOR('d', 2, struct proof_counts)

#endif
