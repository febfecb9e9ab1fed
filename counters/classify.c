/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters/classify.h"

#include <stddef.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

/*
 * The bounds are those of the HPC evaluation in the papers on Clavis. The code of Clavis has a
 * delta of 30, which cannot separate classes whose bounds are 15 apart.
 */
const struct classify_conf classify_default = {
	.turtle = 30,
	.devil = 45,
	.delta = 10,
	.window = 10,
	.majority = 5,
	.running_min = 25,
	.cpu_min = 10,
};

const char *rank_class_name(enum rank_class c)
{
	static const char *const name[] = { "unknown", "turtle", "semi-devil", "devil" };

	return name[c];
}

int classify_conf_check(const struct classify_conf *c, struct errbuf *err)
{
	const struct {
		const char *name;
		unsigned value, min, max;
	} range[] = {
		{ "devil", c->devil, 1, CLASSIFY_BOUND_MAX },
		{ "delta", c->delta, 0, CLASSIFY_BOUND_MAX },
		{ "window", c->window, 1, CLASSIFY_WINDOW_MAX },
		{ "running_min", c->running_min, 1, 100 },
		{ "cpu_min", c->cpu_min, 0, 100 },
	};

	for (size_t i = 0; i < sizeof(range) / sizeof(range[0]); i++)
		if (range[i].value < range[i].min || range[i].value > range[i].max)
			return errprintf(err, "%s: %u: expected a number from %u to %u",
					 range[i].name, range[i].value, range[i].min, range[i].max);
	if (c->turtle >= c->devil)
		return errprintf(err, "turtle: %u: expected a number below devil, which is %u",
				 c->turtle, c->devil);
	if (c->majority < 1 || c->majority > c->window)
		return errprintf(err,
				 "majority: %u: expected a number from 1 to window, which is %u",
				 c->majority, c->window);
	return 0;
}

/* Return VALUE * BY / OF, rounded down; UINT64_MAX if the result is larger. OF is not 0. */
static uint64_t scale_count(uint64_t value, uint64_t by, uint64_t of)
{
	wide scaled = (wide)value * by / of;

	return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}

uint32_t classify_rate(uint64_t instructions, uint64_t misses)
{
	wide scaled = (wide)misses * 10000 * CLASSIFY_RATE_UNIT;
	wide rate = (scaled + instructions - 1) / instructions;

	return rate > CLASSIFY_RATE_MAX ? CLASSIFY_RATE_MAX : (uint32_t)rate;
}

void classify_difference(struct rank_sample *out, const struct classify_conf *c,
			 const struct counter_reading *before, const struct counter_reading *now)
{
	uint64_t instructions = now->instructions - before->instructions;
	uint64_t misses = now->misses - before->misses;
	uint64_t enabled = now->enabled - before->enabled, running = now->running - before->running;

	out->kind = SAMPLE_MISSING;
	out->instructions = out->misses = out->rate = 0;
	if (now->instructions <= before->instructions || now->misses < before->misses ||
	    now->enabled <= before->enabled || now->running <= before->running)
		return;
	/* the kernel reads the two times one after the other, so RUNNING may be slightly larger */
	if (running > enabled)
		running = enabled;
	if ((wide)running * 100 < (wide)enabled * c->running_min)
		return;
	out->kind = running < enabled ? SAMPLE_SCALED : SAMPLE_COUNTED;
	out->instructions = scale_count(instructions, enabled, running);
	out->misses = scale_count(misses, enabled, running);
	out->rate = classify_rate(instructions, misses);
}

enum rank_class classify_class_of(const struct classify_conf *c, uint32_t rate)
{
	if (rate <= c->turtle * CLASSIFY_RATE_UNIT)
		return RANK_TURTLE;
	return rate <= c->devil * CLASSIFY_RATE_UNIT ? RANK_SEMI_DEVIL : RANK_DEVIL;
}

/* Return the number of samples in the ring; *SUM gets the sum of their rates. */
static unsigned ring_sum(const struct rank_state *state, uint64_t *sum)
{
	unsigned n = 0;

	*sum = 0;
	for (unsigned i = 0; i < CLASSIFY_WINDOW_MAX; i++)
		if (state->present >> i & 1) {
			*sum += state->rate[i];
			n++;
		}
	return n;
}

/* Return SUM / N, rounded up; 0 if N is 0. */
static uint32_t mean_of(uint64_t sum, unsigned n)
{
	return n ? (uint32_t)((sum + n - 1) / n) : 0;
}

uint32_t classify_mean(const struct rank_state *state)
{
	uint64_t sum;
	unsigned n = ring_sum(state, &sum);

	return mean_of(sum, n);
}

static void set_class(struct rank_state *state, enum rank_class class)
{
	if (class == state->class)
		return;
	state->class = class;
	state->held = 0;
	state->changes++;
}

/* Remove all samples, which makes the class unknown. */
static void forget_samples(struct rank_state *state)
{
	memset(state->rate, 0, sizeof(state->rate));
	state->present = state->scaled = state->next = 0;
	state->adopted = 0;
	state->has_adopted = false;
	set_class(state, RANK_UNKNOWN);
}

static void put_in_ring(struct rank_state *state, const struct classify_conf *c,
			const struct rank_sample *s)
{
	uint32_t bit = (uint32_t)1 << state->next;

	state->present &= ~bit;
	state->scaled &= ~bit;
	if (s->kind != SAMPLE_MISSING) {
		state->rate[state->next] = s->rate;
		state->present |= bit;
		if (s->kind == SAMPLE_SCALED)
			state->scaled |= bit;
	}
	state->next = (state->next + 1) % c->window;
}

/* Return the number of samples in the ring whose class is not that of the adopted rate. */
static unsigned count_others(const struct rank_state *state, const struct classify_conf *c)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->window; i++)
		n += (state->present >> i & 1) &&
		     classify_class_of(c, state->rate[i]) != state->class;
	return n;
}

/*
 * Does the mean of N samples with the sum SUM differ from the adopted rate by more than the delta?
 * Compares sums, because the mean is rounded.
 */
static bool differs_enough(const struct rank_state *state, const struct classify_conf *c,
			   uint64_t sum, unsigned n)
{
	uint64_t old = (uint64_t)state->adopted * n;
	uint64_t difference = sum > old ? sum - old : old - sum;

	return difference > (uint64_t)c->delta * CLASSIFY_RATE_UNIT * n;
}

void classify_add(struct rank_state *state, const struct classify_conf *c,
		  const struct rank_sample *s)
{
	uint64_t sum;
	unsigned n;

	state->held += s->milliseconds;
	state->idle = s->cpu < c->cpu_min * 10;
	if (s->kind == SAMPLE_NO_COUNTER) {
		forget_samples(state);
		return;
	}
	if (state->idle)
		return;
	put_in_ring(state, c, s);
	n = ring_sum(state, &sum);
	if (!n) {
		forget_samples(state);
		return;
	}
	if (state->has_adopted
		    ? count_others(state, c) < c->majority || !differs_enough(state, c, sum, n)
		    : n < c->majority)
		return;
	state->adopted = mean_of(sum, n);
	state->has_adopted = true;
	set_class(state, classify_class_of(c, state->adopted));
}

enum rank_class classify_for_placement(const struct rank_state *state)
{
	return state->idle ? RANK_TURTLE : state->class;
}
