/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Run traces through counters/classify.c, for classify_oracle.py. A line of input:
 *   c TURTLE DEVIL DELTA WINDOW MAJORITY RUNNING_MIN CPU_MIN    begins a trace with this
 *                                                               configuration
 *   r INSTRUCTIONS MISSES ENABLED RUNNING MILLISECONDS CPU      totals of a rank's counters
 *   n MILLISECONDS CPU                                          an interval without counters
 * Output: a line for each n and r, except for an r that begins a trace or follows an n, since it
 * only starts a sample: kind, rate, counts of the sample; class, adopted rate, mean, scaled
 * samples, time with this class, changes, class for placement.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "counters/classify.h"

static struct classify_conf conf;
static struct rank_state state;
static struct counter_reading last;
static bool has_last;

static void put_sample(const struct rank_sample *s)
{
	classify_add(&state, &conf, s);
	printf("%d %" PRIu32 " %" PRIu64 " %" PRIu64 " %d %" PRIu32 " %" PRIu32 " %d %" PRIu64
	       " %" PRIu32 " %d\n",
	       (int)s->kind, s->rate, s->instructions, s->misses, (int)state.class, state.adopted,
	       classify_mean(&state), __builtin_popcount(state.scaled), state.held, state.changes,
	       (int)classify_for_placement(&state));
}

static int begin_trace(const char *line)
{
	struct errbuf err = { 0 };

	state = (struct rank_state){ .next = 0 };
	has_last = false;
	if (sscanf(line, "c %u %u %u %u %u %u %u", &conf.turtle, &conf.devil, &conf.delta,
		   &conf.window, &conf.majority, &conf.running_min, &conf.cpu_min) != 7)
		return -1;
	if (classify_conf_check(&conf, &err) < 0) {
		fprintf(stderr, "classify_driver: %s\n", err.text);
		return -1;
	}
	return 0;
}

static int take_reading(const char *line)
{
	struct rank_sample s = { .kind = SAMPLE_MISSING };
	struct counter_reading now;

	if (sscanf(line, "r %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu32 " %" SCNu32,
		   &now.instructions, &now.misses, &now.enabled, &now.running, &s.milliseconds,
		   &s.cpu) != 6)
		return -1;
	if (has_last) {
		classify_difference(&s, &conf, &last, &now);
		put_sample(&s);
	}
	last = now;
	has_last = true;
	return 0;
}

static int take_nothing(const char *line)
{
	struct rank_sample s = { .kind = SAMPLE_NO_COUNTER };

	if (sscanf(line, "n %" SCNu32 " %" SCNu32, &s.milliseconds, &s.cpu) != 2)
		return -1;
	has_last = false;
	put_sample(&s);
	return 0;
}

int main(void)
{
	char line[256];

	while (fgets(line, sizeof(line), stdin)) {
		int rc = *line == 'c'	? begin_trace(line)
			 : *line == 'r' ? take_reading(line)
			 : *line == 'n' ? take_nothing(line)
					: -1;

		if (rc < 0) {
			fprintf(stderr, "classify_driver: bad line: %s", line);
			return 2;
		}
	}
	return 0;
}
