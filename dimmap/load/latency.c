/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/latency.h"

#include <math.h>

static unsigned bucket_of(uint64_t ns)
{
	unsigned octave, bucket;

	if (ns < LATENCY_PER_OCTAVE)
		return (unsigned)ns;
	/* shift by which NS becomes a number from 64 to 127 */
	octave = 63 - (unsigned)__builtin_clzll(ns) - 6;
	bucket = octave * LATENCY_PER_OCTAVE + (unsigned)(ns >> octave);
	return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

/* Return the largest time in BUCKET. */
static uint64_t end_of(unsigned bucket)
{
	unsigned octave = bucket < LATENCY_PER_OCTAVE ? 0 : bucket / LATENCY_PER_OCTAVE - 1;

	return ((uint64_t)(bucket - octave * LATENCY_PER_OCTAVE + 1) << octave) - 1;
}

void latency_note(struct latency *l, uint64_t ns)
{
	l->n++;
	l->count[bucket_of(ns)]++;
	if (ns > l->max)
		l->max = ns;
}

void latency_add(struct latency *to, const struct latency *from)
{
	to->n += from->n;
	if (from->max > to->max)
		to->max = from->max;
	for (unsigned i = 0; i < LATENCY_BUCKETS; i++)
		to->count[i] += from->count[i];
}

uint64_t latency_percentile(const struct latency *l, double share)
{
	double wanted = ceil(share * (double)l->n);
	uint64_t seen = 0;

	for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
		seen += l->count[i];
		if (seen && (double)seen >= wanted)
			return i == LATENCY_BUCKETS - 1 || end_of(i) > l->max ? l->max : end_of(i);
	}
	return l->max;
}
