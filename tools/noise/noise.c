/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * nodeos-noise: measure how much CPU time a program that computes without a pause loses. One thread
 * reads the clock in a loop and records each jump, a "detour" (the "selfish" method of Beckman et
 * al., CLUSTER 2006). With --work, it repeats the same piece of work and records the time of each
 * ("fixed work quanta" of Sottile and Minnich, CLUSTER 2004).
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "host/policy.h"
#include "tools/noise/gaps.h"

static const char usage_text[] =
	"Usage: nodeos-noise [OPTION]...\n"
	"Measure interruptions of a program that computes, on the CPU that starts it (taskset, "
	"srun).\n"
	"\n"
	"  -w, --work[=US]      repeat a piece of work of about US microseconds (default: 1000) "
	"and record\n"
	"                       each duration; default: read the clock and record each jump\n"
	"  -s, --seconds=S      measure for S seconds (default: 10)\n"
	"  -t, --threshold=N    a jump is longer than N times the shortest read of the clock "
	"(default: 10)\n"
	"  -j, --json           print JSON, one object on a line\n"
	"  -p, --plot=FILE.svg  also draw a picture; %r in its name becomes the rank "
	"($SLURM_PROCID, or 0)\n"
	"  -h, --help           print this\n"
	"  -V, --version        print the version\n"
	"\n"
	"Each rank of srun measures separately. Exit status: 0 done, 1 failed, 2 wrong usage.\n";

#define GAPS_MAX (1u << 20) /* a run that has more gaps ends early, with a message */

struct options {
	bool work, json;
	double seconds;
	unsigned microseconds, threshold;
	const char *plot;
};

struct run {
	struct gaps gaps;
	bool full;
	long voluntary, involuntary;
	unsigned long moves;
	int cpu; /* at the end */
};

static uint64_t noise_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool noise_note(struct run *r, uint64_t at, uint64_t length)
{
	if (r->gaps.n == GAPS_MAX) {
		r->full = true;
		return false;
	}
	r->gaps.gap[r->gaps.n++] = (struct gap){ at, length };
	return true;
}

static void look_where(struct run *r)
{
	int cpu = sched_getcpu();

	r->moves += cpu != r->cpu;
	r->cpu = cpu;
}

/* Return the shortest time above 0 between two reads of the clock, in ns. */
static uint64_t shortest_look(void)
{
	uint64_t least = UINT64_MAX, before = noise_now();

	for (unsigned i = 0; i < 1000000; i++) {
		uint64_t at = noise_now();

		if (at > before && at - before < least)
			least = at - before;
		before = at;
	}
	return least == UINT64_MAX ? 1 : least;
}

static void measure_detours(struct run *r, const struct options *o)
{
	uint64_t limit = (r->gaps.least = shortest_look()) * o->threshold;
	uint64_t start = noise_now(), before = start, end = start + (uint64_t)(o->seconds * 1e9);

	while (before < end) {
		uint64_t at = noise_now();

		if (at - before > limit) {
			if (!noise_note(r, before - start, at - before))
				break;
			look_where(r);
			at = noise_now(); /* the time for recording is not a detour */
		}
		before = at;
	}
	r->gaps.total = before - start;
}

static volatile uint64_t sink;

/* Compute N rounds in registers: their time depends only on interruptions and the CPU's clock. */
static void compute(uint64_t n)
{
	uint64_t x = sink;

	for (uint64_t i = 0; i < n; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	sink = x;
}

static uint64_t time_of(uint64_t n)
{
	uint64_t start = noise_now();

	compute(n);
	return noise_now() - start;
}

/*
 * Return how many rounds of compute() take NS without interruptions, by the shortest of five runs.
 */
static uint64_t rounds_of(uint64_t ns)
{
	uint64_t n = 1000, least;

	for (;;) {
		least = UINT64_MAX;
		for (unsigned i = 0; i < 5; i++) {
			uint64_t t = time_of(n);

			least = t < least ? t : least;
		}
		if (least >= ns / 2 || n > UINT64_C(1) << 40)
			return least ? (uint64_t)((double)n * (double)ns / (double)least) : n;
		n *= 2;
	}
}

static void measure_quanta(struct run *r, const struct options *o)
{
	uint64_t n = rounds_of((uint64_t)o->microseconds * 1000);
	uint64_t start = noise_now(), end = start + (uint64_t)(o->seconds * 1e9), before = start;

	r->gaps.least = UINT64_MAX;
	while (before < end) {
		uint64_t at;

		compute(n);
		at = noise_now();
		if (!noise_note(r, before - start, at - before))
			break;
		if (at - before < r->gaps.least)
			r->gaps.least = at - before;
		look_where(r);
		before = noise_now();
	}
	r->gaps.total = before - start;
}

static const char *noise_policy_word(void)
{
	return policy_by_number(sched_getscheduler(0));
}

static const char *rank(void)
{
	const char *text = getenv("SLURM_PROCID");

	return text ? text : "0";
}

static void noise_print_text(const struct run *r, const struct options *o, const struct summary *s)
{
	double seconds = (double)r->gaps.total / 1e9;

	printf("rank %s, CPU %d, policy %s: %.1f s, %s %" PRIu64 " ns at least%s\n", rank(), r->cpu,
	       noise_policy_word(), seconds, o->work ? "a piece of work" : "a read of the clock",
	       r->gaps.least, r->full ? ", ended early: too many gaps" : "");
	printf("%zu %s, %.4f %% of the time lost, the longest %.3f ms after %.3f s", s->count,
	       o->work ? "pieces of work" : "detours",
	       r->gaps.total ? 100.0 * (double)s->lost_all / (double)r->gaps.total : 0,
	       (double)s->longest.length / 1e6, (double)s->longest.at / 1e9);
	if (o->work)
		printf(", median %.3f ms, variation %.4f", (double)s->median / 1e6, s->variation);
	printf("\n%-10s %10s %14s\n", "length", "number", "lost, us");
	for (unsigned i = 0; i < DECADES; i++)
		if (s->n[i])
			printf("%-10s %10zu %14.1f\n", gaps_decade(i), s->n[i],
			       (double)s->lost[i] / 1e3);
	printf("switches: %ld involuntary, %ld voluntary; found on another CPU: %lu times\n",
	       r->involuntary, r->voluntary, r->moves);
}

static void noise_print_json(const struct run *r, const struct options *o, const struct summary *s)
{
	printf("{\"schema\":1,\"rank\":%s,\"cpu\":%d,\"policy\":\"%s\",\"method\":\"%s\",\"ns\":"
	       "%" PRIu64 ",\"least_ns\":%" PRIu64 ",\"ended_early\":%s",
	       strspn(rank(), "0123456789") == strlen(rank()) && *rank() ? rank() : "0", r->cpu,
	       noise_policy_word(), o->work ? "work" : "detour", r->gaps.total, r->gaps.least,
	       r->full ? "true" : "false");
	printf(",\"count\":%zu,\"lost_ns\":%" PRIu64 ",\"longest_ns\":%" PRIu64
	       ",\"median_ns\":%" PRIu64 ",\"variation\":%.6f,\"by_length\":[",
	       s->count, s->lost_all, s->longest.length, s->median, s->variation);
	for (unsigned i = 0; i < DECADES; i++)
		printf("%s{\"length\":\"%s\",\"count\":%zu,\"lost_ns\":%" PRIu64 "}", i ? "," : "",
		       gaps_decade(i), s->n[i], s->lost[i]);
	printf("],\"involuntary\":%ld,\"voluntary\":%ld,\"moves\":%lu}\n", r->involuntary,
	       r->voluntary, r->moves);
}

static int plot(const struct run *r, const struct options *o, const struct summary *s)
{
	const char *at = strstr(o->plot, "%r");
	char path[4096], title[128];
	FILE *f;

	snprintf(path, sizeof(path), "%.*s%s%s", at ? (int)(at - o->plot) : (int)strlen(o->plot),
		 o->plot, at ? rank() : "", at ? at + 2 : "");
	snprintf(title, sizeof(title), "%s of rank %.10s on CPU %d, policy %s",
		 o->work ? "Fixed work" : "Detours", rank(), r->cpu, noise_policy_word());
	f = fopen(path, "we");
	if (f)
		gaps_svg(f, &r->gaps, s, title);
	if (!f || ferror(f) || fclose(f) != 0) {
		fprintf(stderr, "nodeos-noise: %s: %s\n", path, strerror(errno));
		return 1;
	}
	return 0;
}

static int noise_measure(const struct options *o)
{
	struct run r = { .cpu = sched_getcpu() };
	struct rusage before, after;
	struct summary s;

	r.gaps.gap = mmap(NULL, GAPS_MAX * sizeof(struct gap), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (r.gaps.gap == MAP_FAILED) {
		fprintf(stderr, "nodeos-noise: %s\n", strerror(errno));
		return 1;
	}
	/* lock memory, so that page faults are no noise; without the right to lock, they count */
	mlockall(MCL_CURRENT);
	getrusage(RUSAGE_SELF, &before);
	if (o->work)
		measure_quanta(&r, o);
	else
		measure_detours(&r, o);
	getrusage(RUSAGE_SELF, &after);
	r.voluntary = after.ru_nvcsw - before.ru_nvcsw;
	r.involuntary = after.ru_nivcsw - before.ru_nivcsw;
	if (gaps_summary(&s, &r.gaps) < 0) {
		fputs("nodeos-noise: out of memory\n", stderr);
		return 1;
	}
	if (o->json)
		noise_print_json(&r, o, &s);
	else
		noise_print_text(&r, o, &s);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fputs("nodeos-noise: cannot write standard output\n", stderr);
		return 1;
	}
	return o->plot ? plot(&r, o, &s) : 0;
}

static int noise_number(const char *text, double min, double max, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return *end || end == text || !(*out >= min && *out <= max) ? -1 : 0;
}

static int noise_bad(const char *option, const char *value, const char *expected)
{
	fprintf(stderr, "nodeos-noise: --%s=%.60s: expected %s\n", option, value, expected);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "work", optional_argument, NULL, 'w' },
		{ "seconds", required_argument, NULL, 's' },
		{ "threshold", required_argument, NULL, 't' },
		{ "json", no_argument, NULL, 'j' },
		{ "plot", required_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	struct options o = { .seconds = 10, .microseconds = 1000, .threshold = 10 };
	double d;
	int c;

	while ((c = getopt_long(argc, argv, "w::s:t:jp:hV", longs, NULL)) != -1) {
		switch (c) {
		case 'w':
			o.work = true;
			if (optarg && noise_number(optarg, 1, 1e6, &d) < 0)
				return noise_bad("work", optarg, "microseconds, 1 to 1000000");
			if (optarg)
				o.microseconds = (unsigned)d;
			break;
		case 's':
			if (noise_number(optarg, 0.01, 86400, &o.seconds) < 0)
				return noise_bad("seconds", optarg, "a number from 0.01 to 86400");
			break;
		case 't':
			if (noise_number(optarg, 2, 1e6, &d) < 0)
				return noise_bad("threshold", optarg, "a number from 2 to 1000000");
			o.threshold = (unsigned)d;
			break;
		case 'j':
			o.json = true;
			break;
		case 'p':
			o.plot = optarg;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return 0;
		case 'V':
			puts("nodeos-noise " VERSION);
			return 0;
		default:
			fputs(usage_text, stderr);
			return 2;
		}
	}
	if (optind != argc) {
		fprintf(stderr, "nodeos-noise: unexpected \"%.60s\"\n%s", argv[optind], usage_text);
		return 2;
	}
	return noise_measure(&o);
}
