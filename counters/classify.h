/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COUNTERS_CLASSIFY_H
#define NODEOS_COUNTERS_CLASSIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * The class of a rank by its misses in the last-level cache, as in Clavis (Blagodurov, Zhuravlev,
 * Fedorova): misses per 10,000 retired instructions, prefetches included, over the last samples,
 * with a hysteresis. Pure: no system call, no clock, no allocation; integers only, so that a replay
 * gives the same classes on each machine.
 *
 * A rate is in thousandths of a miss per 10,000 instructions, rounded up: so rounding changes no
 * comparison of a rate with a bound, which is in whole misses.
 */
#define CLASSIFY_WINDOW_MAX 32 /* samples */
#define CLASSIFY_RATE_UNIT 1000u /* thousandths */
#define CLASSIFY_BOUND_MAX 100000u /* the largest bound: 10 misses per instruction */
/* the largest rate; larger ones are cut to this */
#define CLASSIFY_RATE_MAX (2 * CLASSIFY_BOUND_MAX * CLASSIFY_RATE_UNIT)

enum rank_class {
	RANK_UNKNOWN, /* no counter, or too few samples yet: never a guess */
	RANK_TURTLE, /* at most the bound "turtle" */
	RANK_SEMI_DEVIL, /* above that, at most the bound "devil" */
	RANK_DEVIL, /* above that */
};

/* "unknown", "turtle", "semi-devil", "devil". */
const char *rank_class_name(enum rank_class c);

struct classify_conf {
	unsigned turtle, devil; /* bounds, in misses per 10,000 instructions; turtle < devil */
	/*
	 * a mean is adopted only if it differs from the adopted rate by more than this many misses
	 */
	unsigned delta;
	unsigned window; /* samples that are kept, 1 to CLASSIFY_WINDOW_MAX */
	unsigned majority; /* samples of another class needed for a new rate, 1 to window */
	/* smallest percentage of the time that a sample's counters must have run, 1 to 100 */
	unsigned running_min;
	unsigned cpu_min; /* a rank that uses less than this percent of a CPU is idle, 0 to 100 */
};

/* turtle 30, devil 45, delta 10, window 10, majority 5, running_min 25, cpu_min 10 */
extern const struct classify_conf classify_default;

/* Is each number in its range? Returns 0, or -1 with the field, its value and what is allowed. */
int classify_conf_check(const struct classify_conf *c, struct errbuf *err);

/* The totals of a rank's group of counters, as read(2) of a perf event has them. */
struct counter_reading {
	uint64_t instructions;
	uint64_t misses; /* the sum of the row's addends */
	uint64_t enabled, running; /* nanoseconds */
};

enum sample_kind {
	SAMPLE_COUNTED,
	/* the counters ran for part of the time ("mux"); the counts are scaled to all of it */
	SAMPLE_SCALED,
	SAMPLE_MISSING, /* discarded */
	SAMPLE_NO_COUNTER, /* this rank has no counter */
};

struct rank_sample {
	enum sample_kind kind;
	uint64_t instructions, misses; /* in this interval, scaled; 0 unless counted or scaled */
	uint32_t rate; /* in this interval, from the unscaled counts, as scaling rounds */
	uint32_t milliseconds; /* the interval */
	uint32_t cpu; /* CPU time of the rank in this interval, in thousandths of a CPU */
};

/*
 * Set *OUT, except milliseconds and cpu, to the counts from BEFORE to NOW. The sample is missing if
 * a total went backwards (the counter wrapped or was opened again), if no instruction or no time
 * was counted, or if the counters ran for less than C->running_min percent of the time enabled.
 */
void classify_difference(struct rank_sample *out, const struct classify_conf *c,
			 const struct counter_reading *before, const struct counter_reading *now);

/* The rate of MISSES in INSTRUCTIONS, which must not be 0. */
uint32_t classify_rate(uint64_t instructions, uint64_t misses);

enum rank_class classify_class_of(const struct classify_conf *c, uint32_t rate);

/*
 * The state of one rank: plain data of a fixed size. A rank without samples is all zero. The ring
 * has a place for each of the last WINDOW intervals, also for those whose sample is missing, so
 * that old samples leave it.
 */
struct rank_state {
	uint32_t rate[CLASSIFY_WINDOW_MAX];
	uint32_t present, scaled; /* one bit for each place of the ring */
	uint32_t next; /* place of the next sample */
	uint32_t adopted; /* the adopted rate, where HAS_ADOPTED */
	bool has_adopted;
	bool idle; /* the last sample was of an idle rank */
	enum rank_class class; /* of the adopted rate */
	uint64_t held; /* milliseconds since CLASS last changed */
	uint32_t changes; /* number of changes of CLASS */
};

/*
 * Take the next sample of a rank. C has passed classify_conf_check() and is the same for all
 * samples of STATE.
 *  - A sample of a rank without a counter makes the class unknown, and empties the ring.
 *  - An idle rank's sample is not used: its class and its ring stay.
 *  - The first rate is adopted when MAJORITY samples are in the ring. After that the mean of the
 *    ring is adopted when at least MAJORITY of its samples are in another class than the adopted
 *    rate and the mean differs from that by more than DELTA.
 *  - A ring without a sample (WINDOW missing ones in a row) makes the class unknown.
 */
void classify_add(struct rank_state *state, const struct classify_conf *c,
		  const struct rank_sample *s);

/* The class for placement: an idle rank is a turtle, other ranks have state->class. Reports have
 * state->class for all ranks. */
enum rank_class classify_for_placement(const struct rank_state *state);

/* The mean rate of the samples in the ring, rounded up; 0 if the ring has none. */
uint32_t classify_mean(const struct rank_state *state);

#endif
