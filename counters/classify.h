/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COUNTERS_CLASSIFY_H
#define NODEOS_COUNTERS_CLASSIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * The class of a rank by its misses in the last-level cache, as in Clavis (Blagodurov, Zhuravlev,
 * Fedorova): misses per 10,000 retired instructions, including prefetches, over the last samples,
 * with a hysteresis. Pure: no system call, no clock, no allocation; integers only, so that a replay
 * gives the same classes on every machine.
 *
 * A rate is in thousandths of a miss per 10,000 instructions, rounded up. Bounds are in whole
 * misses, so rounding changes no comparison of a rate with a bound.
 */
#define CLASSIFY_WINDOW_MAX 32 /* samples */
#define CLASSIFY_RATE_UNIT 1000u /* thousandths */
#define CLASSIFY_BOUND_MAX 100000u /* the largest bound: 10 misses per instruction */
/* the largest rate; larger rates are reduced to this */
#define CLASSIFY_RATE_MAX (2 * CLASSIFY_BOUND_MAX * CLASSIFY_RATE_UNIT)

enum rank_class {
	RANK_UNKNOWN, /* no counter, or too few samples so far */
	RANK_TURTLE, /* at most the bound "turtle" */
	RANK_SEMI_DEVIL, /* above that bound, at most the bound "devil" */
	RANK_DEVIL, /* above the bound "devil" */
};

/* Return "unknown", "turtle", "semi-devil" or "devil". */
const char *rank_class_name(enum rank_class c);

struct classify_conf {
	unsigned turtle, devil; /* bounds, in misses per 10,000 instructions; turtle < devil */
	/*
	 * a mean is adopted only if it differs from the adopted rate by more than this number of
	 * misses
	 */
	unsigned delta;
	unsigned window; /* samples in the ring, 1 to CLASSIFY_WINDOW_MAX */
	unsigned majority; /* samples of another class needed for a new rate, 1 to window */
	/* least percentage of the time for which a sample's counters must have run, 1 to 100 */
	unsigned running_min;
	/* a rank that uses less than this percentage of a CPU is idle, 0 to 100 */
	unsigned cpu_min;
};

/* turtle 30, devil 45, delta 10, window 10, majority 5, running_min 25, cpu_min 10 */
extern const struct classify_conf classify_default;

/* Is each number in its range? Returns 0, or -1 with the field, its value and the allowed range. */
int classify_conf_check(const struct classify_conf *c, struct errbuf *err);

/* The totals of a rank's group of counters, in the form that read(2) of a perf event gives. */
struct counter_reading {
	uint64_t instructions;
	uint64_t misses; /* sum of the row's events for misses */
	uint64_t enabled, running; /* nanoseconds */
};

enum sample_kind {
	SAMPLE_COUNTED,
	/*
	 * the counters ran for part of the time (multiplexing); the counts are scaled to all of it
	 */
	SAMPLE_SCALED,
	SAMPLE_MISSING, /* discarded */
	SAMPLE_NO_COUNTER, /* this rank has no counter */
};

struct rank_sample {
	enum sample_kind kind;
	uint64_t instructions, misses; /* in this interval, scaled; 0 if the sample is missing */
	uint32_t rate; /* in this interval, from the unscaled counts, because scaling rounds */
	uint32_t milliseconds; /* length of the interval */
	uint32_t cpu; /* CPU time of the rank in this interval, in thousandths of a CPU */
};

/*
 * Set *OUT, except MILLISECONDS and CPU, from the counts between BEFORE and NOW. The sample is
 * missing if a total decreased (the counter wrapped or was opened again), if no instruction or no
 * time was counted, or if the counters ran for less than C->running_min percent of the enabled
 * time.
 */
void classify_difference(struct rank_sample *out, const struct classify_conf *c,
			 const struct counter_reading *before, const struct counter_reading *now);

/* Return the rate of MISSES in INSTRUCTIONS, which must not be 0. */
uint32_t classify_rate(uint64_t instructions, uint64_t misses);

enum rank_class classify_class_of(const struct classify_conf *c, uint32_t rate);

/*
 * The state of one rank: plain data of a fixed size. A rank without samples is all zero. The ring
 * has a place for each of the last classify_conf.window intervals, including those with a missing
 * sample, so that old samples leave it.
 */
struct rank_state {
	uint32_t rate[CLASSIFY_WINDOW_MAX];
	uint32_t present, scaled; /* one bit for each place of the ring */
	uint32_t next; /* place of the next sample */
	uint32_t adopted; /* valid if HAS_ADOPTED */
	bool has_adopted;
	bool idle; /* the last sample was of an idle rank */
	enum rank_class class; /* class of the adopted rate */
	uint64_t held; /* milliseconds for which the rank has had CLASS */
	uint32_t changes; /* number of changes of CLASS */
};

/*
 * Add the next sample of a rank. C has passed classify_conf_check() and is the same for all samples
 * of STATE; MAJORITY, DELTA and WINDOW are its members.
 *  - A sample of a rank without a counter makes the class unknown, and empties the ring.
 *  - The sample of an idle rank is not used: class and ring stay.
 *  - The first rate is adopted when MAJORITY samples are in the ring. After that the mean of the
 *    ring is adopted when at least MAJORITY of its samples are in another class than the adopted
 *    rate and the mean differs from that rate by more than DELTA.
 *  - A ring without a sample (WINDOW missing samples in a row) makes the class unknown.
 */
void classify_add(struct rank_state *state, const struct classify_conf *c,
		  const struct rank_sample *s);

/*
 * Return the class for placement: an idle rank counts as a turtle, other ranks by state->class.
 * Reports use state->class for all ranks.
 */
enum rank_class classify_for_placement(const struct rank_state *state);

/* Return the mean rate of the samples in the ring, rounded up; 0 if the ring has none. */
uint32_t classify_mean(const struct rank_state *state);

#endif
