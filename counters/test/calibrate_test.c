/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters/calibrate.h"

#include <sched.h>

#include "counters/test/soft.h"

static void test_expected(void)
{
	is_int(calibrate_load_rate(CALIBRATE_LOOP), 0,
	       "calibrate_load_rate: the loop has no misses");
	is_int(calibrate_load_rate(CALIBRATE_SCAN), 2500000,
	       "calibrate_load_rate: the scan reads a line for 4 instructions");
	/* 10,000 * 3 / 56 = 535.7142... */
	is_int(calibrate_load_rate(CALIBRATE_TRIAD), 535715,
	       "calibrate_load_rate: the triad moves 3 lines for 8 * 7 instructions");
}

static void test_differs(void)
{
	/*
	 * scan: 2,500 misses for 10,000 instructions; loop: a tenth of a turtle's bound, 30, is 3
	 */
	ok(!calibrate_differs(CALIBRATE_SCAN, 2250000) &&
		   !calibrate_differs(CALIBRATE_SCAN, 2750000),
	   "calibrate_differs: false for a tenth more or less");
	ok(calibrate_differs(CALIBRATE_SCAN, 2249999) && calibrate_differs(CALIBRATE_SCAN, 2750001),
	   "calibrate_differs: true for more than a tenth");
	ok(!calibrate_differs(CALIBRATE_LOOP, 3000) && calibrate_differs(CALIBRATE_LOOP, 3001),
	   "calibrate_differs: false for a loop with a rate of 3, true above 3");
}

static void test_loads(void)
{
	enum { N = 4 * 192 / 8 };
	double *memory = calloc(3 * N, sizeof(*memory));
	bool same = true;

	for (int i = 0; i < N; i++) {
		memory[N + i] = i;
		memory[2 * N + i] = 10 * i;
	}
	is_int(calibrate_load_run(CALIBRATE_TRIAD, (char *)memory, 3 * N * sizeof(*memory)), 0,
	       "calibrate_load_run: runs a triad");
	for (int i = 0; i < N; i++)
		same = same && memory[i] == i + 1.5 * 10 * i && memory[N + i] == i &&
		       memory[2 * N + i] == 10 * i;
	ok(same, "calibrate_load_run: the triad sets a to b + 1.5 * c");
	is_int(calibrate_load_run(CALIBRATE_SCAN, (char *)memory, 3 * N * sizeof(*memory)), 0,
	       "calibrate_load_run: a scan ends at the end of its memory");
	is_int(calibrate_load_run(CALIBRATE_LOOP, (char *)memory, 3 * N * sizeof(*memory)), 0,
	       "calibrate_load_run: a loop ends");
	free(memory);
}

/*
 * With software events, instructions are CPU time, and misses page faults, of which loads have
 * none.
 */
static void test_measure(struct counters *c, unsigned cpu)
{
	struct rank_sample s;
	struct errbuf err = { 0 };
	const struct calibrate_domain domain = { .id = 3, .cpus = set_of("0-1"), .cache = 1 };
	uint64_t peak = 7;

	bool good = false;

	/* other programs may have the CPU nearly all of the time */
	for (int i = 0; i < 10 && !good; i++) {
		if (calibrate_measure(&s, c, CALIBRATE_TRIAD, cpu, 1 << 20, &err) < 0)
			break;
		good = s.kind == SAMPLE_COUNTED && s.misses == 0 && s.rate == 0 &&
		       s.instructions > CALIBRATE_MS * 1000000ul / 20 &&
		       s.instructions < CALIBRATE_MS * 1000000ul * 5;
	}
	is(err.text, "", "calibrate_measure: counts a load");
	ok(good, "calibrate_measure: a load has CPU time and no page fault");
	err.text[0] = '\0';
	is_int(calibrate_measure(&s, c, CALIBRATE_SCAN, 4095, 1 << 20, &err), -1,
	       "calibrate_measure: fails for a missing CPU");
	is(err.text,
	   "a load of 8 MiB cannot run on CPU 4095: out of memory, or this user may not use the "
	   "CPU",
	   "calibrate_measure: the message names the missing CPU");
	if (sysconf(_SC_NPROCESSORS_ONLN) >= 2) {
		is_int(calibrate_peak(&peak, c, &domain, &err), 0,
		       "calibrate_peak: counts a peak: %s", err.text);
		is_int((long long)peak, 0, "calibrate_peak: 0 for loads without page faults");
	} else {
		skip(2, "needs two CPUs");
	}
}

static char *print_domains(struct counters *c, struct calibrate_domain *d, unsigned n,
			   struct contention_peaks *peaks, struct errbuf *err)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int rc = calibrate_domains(f, c, d, n, peaks, err);

	fclose(f);
	if (rc == 0)
		return text;
	free(text);
	return NULL;
}

static void test_report(struct counters *c, unsigned cpu)
{
	struct calibrate_domain domain = { .id = 3, .cache = 1 };
	struct idset old = set_of("5");
	struct contention_peaks peaks = { .row = "other" };
	struct errbuf err = { 0 };
	char *text, want[512];

	idset_add(&domain.cpus, cpu);
	contention_peaks_set(&peaks, 3, &old, 99);
	text = print_domains(c, &domain, 1, &peaks, &err);
	snprintf(want, sizeof(want),
		 "row soft, quality A-; misses for 10,000 instructions\n"
		 "note: none\n"
		 "domain 3, CPUs %u\n"
		 "           expected   measured\n"
		 "  loop          0.0        0.0\n"
		 "  scan       2500.0        0.0   -100.0 %%   differs\n"
		 "  triad       535.7        0.0   -100.0 %%   differs\n"
		 "  peak   0 misses a second, 0.0 GB/s of lines\n",
		 cpu);
	is(text, want, "calibrate_domains: prints measured rates beside expected ones");
	ok(domain.rate[CALIBRATE_SCAN] == 0 && domain.peak == 0,
	   "calibrate_domains: sets rates and peak of a domain");
	is(peaks.row, "soft", "calibrate_domains: sets the row of the peaks");
	is_int(peaks.n, 0, "calibrate_domains: drops peaks of another row");
	free(text);
	contention_peaks_free(&peaks);
}

static void test_without(void)
{
	const struct counters_conf conf = { .source = "none" };
	struct contention_peaks peaks = { .n = 0 };
	struct counters *c;
	struct errbuf err = { 0 };

	if (counters_open(&c, &conf, &err) < 0)
		bail("%s", err.text);
	ok(!print_domains(c, NULL, 0, &peaks, &err), "calibrate_check: fails without counters");
	is(err.text, "no counters on this host: contention_source is none",
	   "calibrate_check: the message names contention_source");
	counters_close(c);
}

int main(void)
{
	cpu_set_t cpus;
	struct counters *c;
	unsigned cpu = 0;

	test_expected();
	test_differs();
	test_loads();
	test_without();
	scratch_make();
	sched_getaffinity(0, sizeof(cpus), &cpus);
	while (!CPU_ISSET(cpu, &cpus))
		cpu++;
	c = open_soft(SOFT_ROW, false);
	test_measure(c, cpu);
	test_report(c, cpu);
	counters_close(c);
	return tap_done();
}
