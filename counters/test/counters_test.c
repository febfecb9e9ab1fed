/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <linux/perf_event.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "counters/counters_provider.h"

/* The choice of the provider, and the numbers that the provider of traces reads. */

static char events_dir[128];
static struct counters_host host;

static void write_cpuinfo(int model)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "vendor_id\t: Test\ncpu family\t: 6\nmodel\t\t: %d\nstepping\t: 1\n", model);
	scratch_file("proc/cpuinfo", text);
}

/* Return "PROVIDER: WHY", or the error. */
static const char *choose_provider(const char *source, const char *row)
{
	static char text[800];
	const struct counters_conf conf = { .source = source, .row = row, .dirs = { events_dir } };
	struct counters_about about;
	struct counters *c;
	struct errbuf err = { 0 };

	if (counters_open_on(&c, &conf, &host, &err) < 0) {
		snprintf(text, sizeof(text), "error: %s", err.text);
		return text;
	}
	counters_about(c, &about);
	snprintf(text, sizeof(text), "%s: %s", about.provider, about.why);
	counters_close(c);
	return text;
}

static void test_none(void)
{
	is(choose_provider("auto", ""),
	   "none: events.d has no row for processor Test-6-1-1: see nodeos-events(5)",
	   "without a row for the processor there are no counters");
	scratch_file("events.d/a.tab", "Test-6-1 bad X\n\tinstructions 0x1\n\tmisses 0x2\n");
	is(choose_provider("auto", ""),
	   "none: row bad: no event of this processor counts misses of its last-level cache",
	   "a row of quality X counts nothing");
	is(choose_provider("perf", NULL), choose_provider(NULL, NULL), "perf is chosen by default");
	is(choose_provider("none", ""), "none: contention_source is none",
	   "contention_source = none switches counting off");
	host.type = 0x7ffffff0; /* no PMU has this number */
	is(choose_provider("auto", "Test-6-1 mine A; instructions 0xc0; misses 0x1"),
	   "none: row mine: cannot open event 0xc0/0x0 (instructions): No such file or directory",
	   "without the row's PMU there are no counters");
	host.type = PERF_TYPE_SOFTWARE;
	is(choose_provider("auto", "Test-6-1 mine A; instructions 0x1; misses 0xffff"),
	   "none: row mine: cannot open event 0xffff/0x0: No such file or directory",
	   "a row with an event that the PMU lacks counts nothing");
	is(choose_provider("auto", "Test-6-1 mine A; instructions 0x9; misses 0x2"),
	   "none: row mine: the events can be opened, but do not count: other programs, or the NMI "
	   "watchdog, may hold the counters",
	   "a row with an event that the PMU does not count is not used");
	scratch_file("proc/cpuinfo", "processor\t: 0\n");
	ok(strstr(choose_provider("auto", ""), "none: /tmp") &&
		   strstr(choose_provider("auto", ""), "no vendor_id"),
	   "without the processor's vendor there are no counters");
	write_cpuinfo(1);
}

static void test_wrong(void)
{
	is(choose_provider("papi", ""), "error: papi: expected auto, perf, none or replay:FILE",
	   "an unknown source is refused");
	is(choose_provider("auto", "Test-6-1 mine"),
	   "error: contention_events: line 1, column 14: the clause ends here: expected a quality: "
	   "A, A-, B, B-, C or X",
	   "a wrong row of nodeos.conf is refused");
	scratch_file("events.d/a.tab", "x");
	ok(strncmp(choose_provider("auto", ""), "error: /tmp", 11) == 0,
	   "a wrong file of events is refused");
	ok(strncmp(choose_provider("replay:/does/not/exist", ""), "error: /does/not/exist", 22) ==
		   0,
	   "a trace that is missing is refused");
}

static void test_no_counters(void)
{
	const struct counters_conf conf = { .source = "none", .dirs = { events_dir } };
	struct counter_group *g;
	struct counters *c;
	struct errbuf err = { 0 };

	counters_open_on(&c, &conf, &host, &err);
	is_int(counters_begin(c, getpid(), false, &g, &err), -1,
	       "without counters no rank is counted");
	is(err.text, "no counters on this host: contention_source is none",
	   "without counters, the message of counters_begin() names contention_source");
	counters_close(c);
}

static int open_trace(struct counters **c, const char *text, struct errbuf *err)
{
	char source[160];
	const struct counters_conf conf = { .source = source };

	scratch_file("trace", text);
	snprintf(source, sizeof(source), "replay:%s/trace", scratch);
	return counters_open_on(c, &conf, &host, err);
}

static void test_trace(void)
{
	struct counter_group *g[3];
	struct counters_about about;
	struct counter_reading r;
	struct counters *c;
	struct errbuf err = { 0 };
	uint64_t remote = 77;

	is_int(open_trace(&c,
			  "# rank instructions misses remote enabled running\n"
			  "0 100 1 0 10 10\n"
			  "\n"
			  "1\t200 2 1 20 5\n"
			  "0 150 18446744073709551615 3 11 11\r\n"
			  "2 1 1 - 1 1",
			  &err),
	       0, "a trace is opened: %s", err.text);
	counters_about(c, &about);
	ok(!strcmp(about.provider, "replay") && !about.row && about.has_remote &&
		   !about.simulated && !about.why[0],
	   "counters_about: describes a trace");
	for (int i = 0; i < 3; i++)
		counters_begin(c, 1000 - i, false, &g[i], &err);
	is_int(counters_read(g[0], &r, &remote, &err), 0,
	       "counters_read: reads the first rank's first line");
	ok(r.instructions == 100 && r.misses == 1 && remote == 0 && r.enabled == 10 &&
		   r.running == 10,
	   "counters_read: gives the numbers of the first line");
	is_int(counters_read(g[0], &r, &remote, &err), 0,
	       "counters_read: skips other ranks' lines");
	ok(r.instructions == 150 && r.misses == UINT64_MAX && remote == 3,
	   "counters_read: gives the numbers of the rank's second line");
	is_int(counters_read(g[1], &r, &remote, &err), 0,
	       "counters_read: reads the second rank's first line");
	ok(r.instructions == 200 && remote == 1 && r.enabled == 20 && r.running == 5,
	   "counters_read: gives the second rank's numbers");
	is_int(counters_read(g[2], &r, &remote, &err), 0,
	       "counters_read: reads a line without remote misses");
	is_int((long long)remote, 0, "counters_read: remote misses are 0 if the line has none");
	is_int(counters_read(g[0], &r, &remote, &err), -1,
	       "counters_read: fails at the end of the trace");
	is(err.text, "the trace has no more lines of rank 0",
	   "counters_read: the message names the rank");
	is_int(counters_renew(g[0], &err), 0, "counters_renew: does nothing for a trace");
	ok(counters_descriptors(g[0]) == 0 && counters_interrupts(g[0]) == 0,
	   "a trace uses no descriptors and sends no interrupts");
	for (int i = 0; i < 3; i++)
		counters_end(g[i]);
	counters_close(c);
}

static void test_wrong_traces(void)
{
	static const char *const text[] = { "0 1 1 1 1",
					    "0 1 1 1 1 1 1",
					    "0 1 1 1 1 -1",
					    "0 1 1 1 1 18446744073709551616",
					    "4294967296 1 1 1 1 1",
					    "- 1 1 1 1 1",
					    "0 1 0x1 1 1 1",
					    "0 1 1 1.5 1 1" };
	char path[160];
	struct counters *c;

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		struct errbuf err = { 0 };

		ok(open_trace(&c, text[i], &err) < 0 && strstr(err.text, "/trace:1: expected six"),
		   "a wrong line is refused: %s", text[i]);
	}
	snprintf(path, sizeof(path), "%s/trace", scratch);
	if (chmod(path, 0666) < 0)
		bail("chmod");
	ok(open_trace(&c, "", NULL) < 0, "a trace that all users can change is refused");
}

int main(void)
{
	scratch_make();
	scratch_dir("proc");
	scratch_dir("events.d");
	snprintf(events_dir, sizeof(events_dir), "%s/events.d", scratch);
	host = (struct counters_host){ .root = scratch, .type = PERF_TYPE_RAW, .owner = getuid() };
	write_cpuinfo(1);
	test_none();
	test_wrong();
	test_no_counters();
	test_trace();
	test_wrong_traces();
	counters_close(NULL);
	counters_end(NULL);
	return tap_done();
}
