/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_SIM_BOUNDS_H
#define NODEOS_DIMMAP_SIM_BOUNDS_H

#include "dimmap/sim/accesses.h"
#include "dimmap/sim/buffer.h"

/*
 * What to compare policies with: neither can be had by a buffer that programs use without telling
 * it. Both take a page when it is needed, and only then, and let one go when there is no room. -1:
 * no memory.
 */

/* The page goes that has not been used for the longest time. */
int bounds_lru(const struct accesses *a, uint32_t pages, struct buffer_counts *out);

/* The page goes that will not be used for the longest time: no other way misses less often (Belady
 * 1966; Mattson et al. 1970). */
int bounds_opt(const struct accesses *a, const uint32_t *next, uint32_t pages,
	       struct buffer_counts *out);

/* For each access, the next one to the same page, or BOUNDS_NEVER: for bounds_opt(), the caller's
 * to free. NULL: no memory. */
#define BOUNDS_NEVER UINT32_MAX
uint32_t *bounds_next(const struct accesses *a);

#endif
