/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTENTION_CALIBRATE_LOAD_H
#define NODEOS_CONTENTION_CALIBRATE_LOAD_H

#include <stddef.h>
#include <stdint.h>

/*
 * Loads whose instructions and lines from memory are known, as their loops are written in
 * assembler: of x86-64 and of 64-bit ARM, with the same numbers. The memory is to be several times
 * the cache.
 */
#define CALIBRATE_LINE 64 /* bytes of a line of the cache */

enum calibrate_load {
	CALIBRATE_LOOP, /* no memory */
	CALIBRATE_SCAN, /* a load in each line */
	CALIBRATE_TRIAD, /* a = b + factor * c of doubles: two lines read, one written */
	CALIBRATE_LOADS
};

/* "loop", "scan", "triad". */
const char *calibrate_load_name(enum calibrate_load load);

/* Its misses for 10,000 instructions where each line comes from memory, as struct rank_sample has a
 * rate. */
uint32_t calibrate_load_rate(enum calibrate_load load);

/* Make one pass over the BYTES at MEMORY, a multiple of 192. Returns 0, or -1: no such loop is
 * known of this processor. */
int calibrate_load_run(enum calibrate_load load, char *memory, size_t bytes);

#endif
