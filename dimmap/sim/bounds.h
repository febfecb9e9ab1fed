/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_SIM_BOUNDS_H
#define NODEOS_DIMMAP_SIM_BOUNDS_H

#include "dimmap/sim/accesses.h"
#include "dimmap/sim/buffer.h"

/*
 * Two bounds for comparison with policies. A buffer cannot implement them, since it does not see
 * accesses to mapped pages. Both admit a page only when it is needed, and evict a page when there
 * is no room. They return 0, or -1 if out of memory.
 */

/* Evicts the page that has not been used for the longest time. */
int bounds_lru(const struct accesses *a, uint32_t pages, struct buffer_counts *out);

/*
 * Evicts the page whose next use is the latest. No other choice misses less often (Belady 1966;
 * Mattson et al. 1970). NEXT is the result of bounds_next().
 */
int bounds_opt(const struct accesses *a, const uint32_t *next, uint32_t pages,
	       struct buffer_counts *out);

/*
 * Return for each access the next access to the same page, or BOUNDS_NEVER. The caller frees the
 * array. Returns NULL if out of memory.
 */
#define BOUNDS_NEVER UINT32_MAX
uint32_t *bounds_next(const struct accesses *a);

#endif
