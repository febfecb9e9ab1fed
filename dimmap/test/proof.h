/* SPDX-License-Identifier: GPL-2.0 */
/* Between proof.c, a module, and rogue.c, a program. */
#ifndef NODEOS_DIMMAP_TEST_PROOF_H
#define NODEOS_DIMMAP_TEST_PROOF_H

#include <linux/ioctl.h>

#define PROOF_PAGES 128
/* more frames than pages: what was just taken away is not what is given out next, and is soon */
#define PROOF_SPARE 16

struct proof_counts {
	unsigned long long user_faults, vma_lock_faults, evicted, batches, ptes, flushes;
};

/* so many pages, and in the upper 16 bits how many there have to be */
#define PROOF_EVICT _IO('d', 1)
#define PROOF_COUNTS _IOR('d', 2, struct proof_counts)

#endif
