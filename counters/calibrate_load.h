/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COUNTERS_CALIBRATE_LOAD_H
#define NODEOS_COUNTERS_CALIBRATE_LOAD_H

#include <stddef.h>
#include <stdint.h>

/*
 * Loads that execute a known number of instructions for each line from memory: their loops are
 * written in assembler, with the same numbers for x86-64 and 64-bit ARM. Their memory must be
 * several times the size of the cache.
 */
#define CALIBRATE_LINE 64 /* bytes of a line of the cache */

enum calibrate_load {
	CALIBRATE_LOOP, /* no memory */
	CALIBRATE_SCAN, /* one read of each line */
	CALIBRATE_TRIAD, /* a = b + factor * c of doubles: two lines read, one written */
	CALIBRATE_LOADS
};

/* Return "loop", "scan" or "triad". */
const char *calibrate_load_name(enum calibrate_load load);

/* Return the rate of LOAD if each line comes from memory, in the unit of struct rank_sample. */
uint32_t calibrate_load_rate(enum calibrate_load load);

/*
 * Make one pass of LOAD over MEMORY, whose BYTES are a multiple of 192. Returns 0, or -1 if LOAD
 * has no loop for this architecture.
 */
int calibrate_load_run(enum calibrate_load load, char *memory, size_t bytes);

#endif
