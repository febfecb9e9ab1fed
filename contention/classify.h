/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTENTION_CLASSIFY_H
#define NODEOS_CONTENTION_CLASSIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * The class of a rank by its misses in the last-level cache, as Clavis has it (Blagodurov,
 * Zhuravlev, Fedorova): the misses for 10,000 retired instructions, prefetches included, of the
 * last samples, with a hysteresis. Pure: no system call, no clock, no allocation; integers only, so
 * that a replay gives the same classes on each machine.
 *
 * A rate is in thousandths of a miss for 10,000 instructions, rounded up: a rate above a bound in
 * whole misses stays above it, and one that equals it stays equal.
 */
#define CLASSIFY_WINDOW_MAX 32 /* samples */
#define CLASSIFY_RATE_UNIT 1000u /* thousandths */
#define CLASSIFY_BOUND_MAX 100000u /* the largest bound: 10 misses for each instruction */
/* the largest rate; a larger one is this */
#define CLASSIFY_RATE_MAX (2 * CLASSIFY_BOUND_MAX * CLASSIFY_RATE_UNIT)

enum rank_class {
	RANK_UNKNOWN, /* no counter, or too few samples yet: never a guess */
	RANK_TURTLE, /* up to and with the bound "turtle" */
	RANK_SEMI_DEVIL, /* above it, up to and with the bound "devil" */
	RANK_DEVIL, /* above that */
};

/* "unknown", "turtle", "semi-devil", "devil". */
const char *rank_class_name(enum rank_class c);

struct classify_conf {
	unsigned turtle, devil; /* bounds, in misses for 10,000 instructions; turtle < devil */
	/* adopted is a mean that differs from the adopted rate by more than this many misses */
	unsigned delta;
	unsigned window; /* samples that are kept, 1 to CLASSIFY_WINDOW_MAX */
	unsigned majority; /* how many of them must be in another class, 1 to window */
	/* percent of the time that a sample's counters must have run, 1 to 100 */
	unsigned running_min;
	unsigned cpu_min; /* percent of a CPU below which a rank is idle, 0 to 100 */
};

/* 30, 45, 10, 10 samples, 5 of them, 25 %, 10 %. */
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
	SAMPLE_SCALED, /* counted part of the time ("mux"), and scaled to all of it */
	SAMPLE_MISSING, /* discarded */
	SAMPLE_NO_COUNTER, /* nothing counts for this rank */
};

struct rank_sample {
	enum sample_kind kind;
	uint64_t instructions, misses; /* in this interval, scaled; 0 unless counted or scaled */
	uint32_t rate; /* the same; of what was counted, as scaling rounds */
	uint32_t milliseconds; /* the interval */
	uint32_t cpu; /* thousandths of a CPU that the rank had in it */
};

/*
 * What was counted from BEFORE to NOW, in *OUT, whose milliseconds and cpu stay. Missing: a total
 * that went backwards (a counter that wrapped or was opened anew), no instruction, no time enabled,
 * or one that ran for less of it than C allows.
 */
void classify_difference(struct rank_sample *out, const struct classify_conf *c,
			 const struct counter_reading *before, const struct counter_reading *now);

/* The rate of MISSES in INSTRUCTIONS, which are not 0. */
uint32_t classify_rate(uint64_t instructions, uint64_t misses);

enum rank_class classify_class_of(const struct classify_conf *c, uint32_t rate);

/*
 * What is known of one rank: plain data of a fixed size. All zero is a rank without samples. The
 * ring has the samples of the last WINDOW intervals; an interval whose sample is missing has a
 * place in it, too, so that old samples go.
 */
struct rank_state {
	uint32_t rate[CLASSIFY_WINDOW_MAX];
	uint32_t present, scaled; /* bits of the ring's places */
	uint32_t next; /* place of the next sample */
	uint32_t adopted; /* the adopted rate, where HAS_ADOPTED */
	bool has_adopted;
	bool idle; /* the last sample was of an idle rank */
	enum rank_class class; /* of the adopted rate */
	uint64_t held; /* milliseconds since CLASS became what it is */
	uint32_t changes; /* how often it became another one */
};

/*
 * Take the next sample of a rank. C has passed classify_conf_check() and is that of all samples of
 * this STATE.
 *  - No counter: nothing is known of the rank any more.
 *  - An idle rank's sample is not used: its class and its ring stay.
 *  - The first rate is adopted when MAJORITY samples are in the ring. After that the mean of the
 *    ring is adopted when at least MAJORITY of its samples are in another class than the adopted
 *    rate and the mean differs from that by more than DELTA.
 *  - A ring without a sample (WINDOW missing ones in a row) makes the class unknown.
 */
void classify_add(struct rank_state *state, const struct classify_conf *c,
		  const struct rank_sample *s);

/* The class in reports is state->class; for placement an idle rank is a turtle, whatever it was. */
enum rank_class classify_for_placement(const struct rank_state *state);

/* The mean rate of the ring, rounded up; 0 where it has no sample. */
uint32_t classify_mean(const struct rank_state *state);

#endif
