/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_SCATTER_H
#define NODEOS_DIMMAP_LOAD_SCATTER_H

#include <stdint.h>

/*
 * A permutation of the numbers below N, different for each KEY, without a table: invertible steps
 * mix as many bits as N - 1 has, and are repeated until the result is below N.
 */
struct scatter {
	uint64_t n, mask, key[2];
	unsigned shift;
};

void scatter_start(struct scatter *s, uint64_t n, uint64_t key);
uint64_t scatter(const struct scatter *s, uint64_t x); /* x below N */

#endif
