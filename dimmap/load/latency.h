/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LATENCY_H
#define NODEOS_DIMMAP_LOAD_LATENCY_H

#include <stdint.h>

/*
 * A histogram of times in ns. The width of a bucket is 1/64 of its start, so a percentile is at
 * most 1.6 % too large; below 64 ns it is exact. A histogram with all zeros is empty. It has no
 * pointers, so processes may share it.
 */
#define LATENCY_PER_OCTAVE 64
/* up to 2^41 ns (36 minutes); the last bucket holds all longer times */
#define LATENCY_BUCKETS (LATENCY_PER_OCTAVE * 36)

struct latency {
	uint64_t n, max;
	uint64_t count[LATENCY_BUCKETS];
};

void latency_note(struct latency *l, uint64_t ns);
void latency_add(struct latency *to, const struct latency *from);

/*
 * Return the smallest time that SHARE (0 to 1) of all noted times do not exceed. It is the upper
 * end of a bucket. Returns 0 if no time is noted.
 */
uint64_t latency_percentile(const struct latency *l, double share);

#endif
