/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters/classify.h"

#include <stddef.h>

#include "base/test/tap.h"

/* Every expected value is calculated by hand from the rules in counters/README. */

static struct rank_state state;

static struct rank_sample sample_of(unsigned instructions, unsigned misses)
{
	return (struct rank_sample){ .kind = SAMPLE_COUNTED,
				     .instructions = instructions,
				     .misses = misses,
				     .rate = classify_rate(instructions, misses),
				     .milliseconds = 1000,
				     .cpu = 1000 };
}

/* Add N samples of MISSES per 10,000 instructions. */
static void add_rates(unsigned n, unsigned misses)
{
	struct rank_sample s = sample_of(10000, misses);

	while (n--)
		classify_add(&state, &classify_default, &s);
}

static void add_missing(unsigned n)
{
	struct rank_sample s = { .kind = SAMPLE_MISSING, .milliseconds = 1000, .cpu = 1000 };

	while (n--)
		classify_add(&state, &classify_default, &s);
}

static void restart_state(void)
{
	state = (struct rank_state){ .next = 0 };
}

#define class_is(want, ...) is(rank_class_name(state.class), want, __VA_ARGS__)

static void test_conf(void)
{
	static const struct {
		size_t at;
		unsigned good[3], bad[2];
		const char *refusal; /* message for bad[0] */
	} row[] = {
		{ offsetof(struct classify_conf, turtle),
		  { 0, 30, 44 },
		  { 45, 4000000000u },
		  "turtle: 45: expected a number below devil, which is 45" },
		{ offsetof(struct classify_conf, devil),
		  { 31, 45, 100000 },
		  { 0, 100001 },
		  "devil: 0: expected a number from 1 to 100000" },
		{ offsetof(struct classify_conf, delta),
		  { 0, 10, 100000 },
		  { 100001, 4000000000u },
		  "delta: 100001: expected a number from 0 to 100000" },
		{ offsetof(struct classify_conf, window),
		  { 5, 10, 32 },
		  { 33, 0 },
		  "window: 33: expected a number from 1 to 32" },
		{ offsetof(struct classify_conf, majority),
		  { 1, 5, 10 },
		  { 11, 0 },
		  "majority: 11: expected a number from 1 to window, which is 10" },
		{ offsetof(struct classify_conf, running_min),
		  { 1, 25, 100 },
		  { 0, 101 },
		  "running_min: 0: expected a number from 1 to 100" },
		{ offsetof(struct classify_conf, cpu_min),
		  { 0, 10, 100 },
		  { 101, 4000000000u },
		  "cpu_min: 101: expected a number from 0 to 100" },
	};
	struct errbuf err = { 0 };

	ok(classify_conf_check(&classify_default, &err) == 0,
	   "classify_conf_check: the default is in range");
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct classify_conf c = classify_default;
		unsigned *field = (unsigned *)((char *)&c + row[i].at);

		for (unsigned k = 0; k < 3; k++) {
			*field = row[i].good[k];
			ok(classify_conf_check(&c, &err) == 0,
			   "classify_conf_check: accepts %u in field %zu", *field, i);
		}
		*field = row[i].bad[1];
		ok(classify_conf_check(&c, &err) == -1,
		   "classify_conf_check: refuses %u in field %zu", *field, i);
		*field = row[i].bad[0];
		ok(classify_conf_check(&c, &err) == -1,
		   "classify_conf_check: refuses %u in field %zu", *field, i);
		is(err.text, row[i].refusal,
		   "classify_conf_check: the message gives the allowed range of field %zu", i);
	}
}

static void test_rates(void)
{
	static const struct {
		uint64_t instructions, misses;
		uint32_t rate;
		const char *class;
	} row[] = {
		{ 10000, 0, 0, "turtle" },
		{ 1, 0, 0, "turtle" },
		{ 10000, 30, 30000, "turtle" },
		{ 1000, 3, 30000, "turtle" },
		{ 10000000, 30000, 30000, "turtle" },
		/* 30.0001 and 30.001 */
		{ 100000000, 300001, 30001, "semi-devil" },
		{ 10000000, 30001, 30001, "semi-devil" },
		{ 10000000, 29999, 29999, "turtle" },
		{ 10000, 31, 31000, "semi-devil" },
		{ 2000, 9, 45000, "semi-devil" },
		{ 10000, 45, 45000, "semi-devil" },
		{ 100000000, 450001, 45001, "devil" },
		{ 10000, 46, 46000, "devil" },
		{ 3, 1, 3333334, "devil" },
		{ 1, 20, 200000000, "devil" },
		/* limited to the largest rate */
		{ 1, 21, 200000000, "devil" },
		{ 1, UINT64_MAX, 200000000, "devil" },
		/* intermediate values overflow 64 bits: 10,000 * 1,000 * misses has 88 bits */
		{ UINT64_MAX, UINT64_MAX, 10000000, "devil" },
		{ 10000000000000000000u, 30000000000000000u, 30000, "turtle" },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint32_t rate = classify_rate(row[i].instructions, row[i].misses);

		is_int(rate, row[i].rate, "classify_rate: the rate of row %zu is as calculated", i);
		is(rank_class_name(classify_class_of(&classify_default, rate)), row[i].class,
		   "classify_class_of: the class of row %zu is as calculated", i);
	}
}

static void test_differences(void)
{
	static const struct {
		const char *name;
		struct counter_reading before, now;
		enum sample_kind kind;
		uint64_t instructions, misses;
		uint32_t rate;
	} row[] = {
		{ "counted all the time",
		  { 5, 6, 7, 7 },
		  { 10005, 46, 1007, 1007 },
		  SAMPLE_COUNTED,
		  10000,
		  40,
		  40000 },
		{ "counted half of the time",
		  { 0, 0, 0, 0 },
		  { 10000, 30, 1000, 500 },
		  SAMPLE_SCALED,
		  20000,
		  60,
		  30000 },
		{ "counted a quarter of the time",
		  { 0, 0, 0, 0 },
		  { 10000, 45, 1000, 250 },
		  SAMPLE_SCALED,
		  40000,
		  180,
		  45000 },
		{ "counted for less than a quarter of the time",
		  { 0, 0, 0, 0 },
		  { 10000, 45, 1000, 249 },
		  SAMPLE_MISSING,
		  0,
		  0,
		  0 },
		{ "running longer than enabled",
		  { 0, 0, 0, 0 },
		  { 10000, 45, 1000, 1001 },
		  SAMPLE_COUNTED,
		  10000,
		  45,
		  45000 },
		{ "enabled but never running",
		  { 0, 0, 0, 0 },
		  { 10000, 45, 1000, 0 },
		  SAMPLE_MISSING,
		  0,
		  0,
		  0 },
		{ "not enabled", { 0, 0, 9, 9 }, { 10000, 45, 9, 9 }, SAMPLE_MISSING, 0, 0, 0 },
		{ "no instruction",
		  { 70, 0, 0, 0 },
		  { 70, 45, 1000, 1000 },
		  SAMPLE_MISSING,
		  0,
		  0,
		  0 },
		{ "instructions that go backwards",
		  { 70, 0, 0, 0 },
		  { 69, 45, 1000, 1000 },
		  SAMPLE_MISSING,
		  0,
		  0,
		  0 },
		{ "misses that go backwards",
		  { 70, 46, 0, 0 },
		  { 10070, 45, 1000, 1000 },
		  SAMPLE_MISSING,
		  0,
		  0,
		  0 },
		{ "time that goes backwards",
		  { 0, 0, 2000, 2000 },
		  { 10000, 45, 1000, 1000 },
		  SAMPLE_MISSING,
		  0,
		  0,
		  0 },
		{ "a counter that wraps at 64 bits",
		  { UINT64_MAX - 9, 0, 0, 0 },
		  { 9990, 45, 1000, 1000 },
		  SAMPLE_MISSING,
		  0,
		  0,
		  0 },
		{ "a counter that wraps at 48 bits",
		  { 281474976710655u, 0, 0, 0 },
		  { 10000, 45, 1000, 1000 },
		  SAMPLE_MISSING,
		  0,
		  0,
		  0 },
		{ "the largest totals",
		  { 0, 0, 0, 0 },
		  { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX / 2 },
		  SAMPLE_SCALED,
		  UINT64_MAX,
		  UINT64_MAX,
		  10000000 },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct rank_sample s = { .milliseconds = 7, .cpu = 8 };

		classify_difference(&s, &classify_default, &row[i].before, &row[i].now);
		is_int(s.kind, row[i].kind, "%s: the kind of the sample is right", row[i].name);
		ok(s.instructions == row[i].instructions && s.misses == row[i].misses,
		   "%s: the scaled counts are right", row[i].name);
		is_int(s.rate, row[i].rate, "%s: the rate is right", row[i].name);
		ok(s.milliseconds == 7 && s.cpu == 8, "%s: interval and CPU share stay",
		   row[i].name);
	}
}

static void test_adoption(void)
{
	restart_state();
	class_is("unknown", "a rank without samples has no class");
	add_rates(4, 0);
	class_is("unknown", "four samples give no class yet");
	add_rates(1, 0);
	class_is("turtle", "the fifth sample gives the first class");
	add_rates(15, 0);

	add_rates(4, 100);
	class_is("turtle", "4 of 10 samples of a devil do not change the class");
	add_rates(1, 100);
	class_is("devil", "5 of 10 samples of a devil make a devil");
	is_int(state.adopted, 50000, "the adopted rate is the mean of the ring, not the last rate");
	is_int((long long)state.held, 0, "the time of a new class begins at 0");
	is_int(state.changes, 2, "from unknown to turtle to devil are two changes");
	add_rates(10, 100);
	is_int(state.adopted, 50000, "samples of the adopted class adopt no other rate");
	is_int((long long)state.held, 10000,
	       "after ten samples of a second the class has lasted ten seconds");

	/* from turtle to semi-devil by two adoptions: the mean is 20, then 32 */
	restart_state();
	add_rates(10, 0);
	add_rates(5, 40);
	class_is("turtle", "5 of 10 samples at 40: the mean, 20, is a turtle's");
	is_int(state.adopted, 20000, "5 of 10 samples at 40: the mean, 20, is adopted");
	add_rates(2, 40);
	is_int(state.adopted, 20000, "7 of 10 samples at 40: 28 is not more than 10 above 20");
	add_rates(1, 40);
	is_int(state.adopted, 32000, "8 of 10 samples at 40: 32 is adopted");
	class_is("semi-devil", "8 of 10 samples at 40 make a semi-devil");
}

static void test_delta(void)
{
	/* ten samples at 28: 28 is adopted; five more at 48: the mean is 38, exactly 10 above */
	restart_state();
	add_rates(10, 28);
	add_rates(5, 48);
	is_int(state.adopted, 28000, "a mean that differs by exactly the delta is not adopted");
	add_rates(1, 48);
	is_int(state.adopted, 40000, "a mean that differs by more than the delta is adopted");

	restart_state();
	add_rates(10, 60);
	add_rates(5, 40);
	is_int(state.adopted, 60000, "a mean that is lower by exactly the delta is not adopted");
	add_rates(1, 40);
	is_int(state.adopted, 48000, "a mean that is lower by more than the delta is adopted");
	class_is("devil", "an adopted rate of 48 is a devil's");
}

static void test_edges(void)
{
	struct rank_sample above;

	restart_state();
	add_rates(10, 30);
	class_is("turtle", "a steady rate of exactly 30 is a turtle's");
	restart_state();
	add_rates(10, 45);
	class_is("semi-devil", "a steady rate of exactly 45 is a semi-devil's");

	/* four times 30 and once 30.001: the mean is 30.0002 */
	restart_state();
	add_rates(4, 30);
	above = sample_of(10000000, 30001);
	classify_add(&state, &classify_default, &above);
	is_int(state.adopted, 30001, "a mean between two thousandths is rounded up");
	class_is("semi-devil", "a mean just above 30 is a semi-devil's");

	/* 29 and 31 in turn: a mean of 29.8 is adopted, and no later mean differs from it by 10 */
	restart_state();
	for (unsigned i = 0; i < 50; i++)
		add_rates(1, i % 2 ? 31 : 29);
	is_int(state.changes, 1, "a rate that swings about 30 has one class");

	/*
	 * 0 and 90: after five samples the mean is 36 (0 90 0 90 0), then that of ten samples is 45
	 */
	restart_state();
	for (unsigned i = 0; i < 100; i++)
		add_rates(1, i % 2 ? 90 : 0);
	is_int(state.changes, 1, "a rate that swings between 0 and 90 has one class");
	class_is("semi-devil", "a rate that swings between 0 and 90 has the class of its mean");
}

static void test_missing(void)
{
	restart_state();
	add_rates(10, 0);
	add_missing(9);
	class_is("turtle", "9 missing samples and one other keep the class");
	add_missing(1);
	class_is("unknown", "10 missing samples make the class unknown");
	is_int(classify_mean(&state), 0, "a ring without samples has no mean");
	add_rates(4, 100);
	class_is("unknown", "after a gap a class needs five samples again");
	add_rates(1, 100);
	class_is("devil", "after a gap the fifth sample gives a class");

	/* 5 samples of a turtle, 5 missing, 5 of a devil: only the last five are in the ring */
	restart_state();
	add_rates(5, 0);
	add_missing(5);
	add_rates(4, 100);
	class_is("turtle", "4 samples of a devil among missing ones do not change the class");
	add_rates(1, 100);
	class_is("devil", "missing samples do not dilute the mean");
	is_int(state.adopted, 100000, "the mean leaves out missing samples");
}

static void test_no_counter(void)
{
	struct rank_sample s = { .kind = SAMPLE_NO_COUNTER, .milliseconds = 1000, .cpu = 1000 };

	restart_state();
	add_rates(10, 100);
	classify_add(&state, &classify_default, &s);
	class_is("unknown", "a rank whose counter is gone has no class");
	is(rank_class_name(classify_for_placement(&state)), "unknown",
	   "a busy rank without a counter has no class for placement");
	s.cpu = 99;
	classify_add(&state, &classify_default, &s);
	class_is("unknown", "an idle rank without a counter has no class in reports");
	is(rank_class_name(classify_for_placement(&state)), "turtle",
	   "an idle rank without a counter is a turtle for placement");
}

static void test_idle(void)
{
	struct rank_sample s = sample_of(10000, 0);

	restart_state();
	add_rates(10, 100);
	s.cpu = 99;
	for (unsigned i = 0; i < 40; i++)
		classify_add(&state, &classify_default, &s);
	class_is("devil", "a devil below 10 %% of a CPU stays one in reports");
	is(rank_class_name(classify_for_placement(&state)), "turtle",
	   "a devil below 10 %% of a CPU is a turtle for placement");
	is_int((long long)state.held, 45000,
	       "the time with a class also passes while the rank is idle");
	s.cpu = 100;
	classify_add(&state, &classify_default, &s);
	is(rank_class_name(classify_for_placement(&state)), "devil",
	   "a devil with 10 %% of a CPU is a devil for placement");
	is_int(classify_mean(&state), 90000, "the ring has the busy sample and no idle one");
	s.kind = SAMPLE_MISSING;
	s.cpu = 0;
	for (unsigned i = 0; i < 40; i++)
		classify_add(&state, &classify_default, &s);
	class_is("devil", "an idle rank without counts keeps its class");
}

static void test_scaled(void)
{
	struct rank_sample s = sample_of(10000, 100);

	restart_state();
	s.kind = SAMPLE_SCALED;
	classify_add(&state, &classify_default, &s);
	add_rates(9, 100);
	ok(state.scaled, "a scaled sample marks the ring");
	add_rates(1, 100);
	ok(!state.scaled, "the mark leaves the ring with the scaled sample");
	ok(sizeof(state) <= 256, "the state of a rank has at most 256 bytes");
}

int main(void)
{
	test_conf();
	test_rates();
	test_differences();
	test_adoption();
	test_delta();
	test_edges();
	test_missing();
	test_no_counter();
	test_idle();
	test_scaled();
	return tap_done();
}
