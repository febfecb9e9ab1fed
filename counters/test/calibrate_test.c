/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters/calibrate.h"

#include <sched.h>

#include "counters/test/soft.h"

static void test_expected(void)
{
	is_int(calibrate_load_rate(CALIBRATE_LOOP), 0, "loop: four instructions without memory");
	is_int(calibrate_load_rate(CALIBRATE_SCAN), 2500000, "scan: a line for 4 instructions");
	/* 10,000 * 3 / 56 = 535.7142... */
	is_int(calibrate_load_rate(CALIBRATE_TRIAD), 535715,
	       "triad: three lines for 8 times 7 instructions");
}

static void test_differs(void)
{
	/* scan: 2,500 for 10,000 instructions; a tenth of the bound of a turtle, 30, is 3 */
	ok(!calibrate_differs(CALIBRATE_SCAN, 2250000) &&
		   !calibrate_differs(CALIBRATE_SCAN, 2750000),
	   "a tenth more or less does not differ");
	ok(calibrate_differs(CALIBRATE_SCAN, 2249999) && calibrate_differs(CALIBRATE_SCAN, 2750001),
	   "more than a tenth differs");
	ok(!calibrate_differs(CALIBRATE_LOOP, 3000) && calibrate_differs(CALIBRATE_LOOP, 3001),
	   "a loop may have some misses");
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
	       "a triad runs");
	for (int i = 0; i < N; i++)
		same = same && memory[i] == i + 1.5 * 10 * i && memory[N + i] == i &&
		       memory[2 * N + i] == 10 * i;
	ok(same, "a triad has added the second array and 1.5 times the third");
	is_int(calibrate_load_run(CALIBRATE_SCAN, (char *)memory, 3 * N * sizeof(*memory)), 0,
	       "a scan ends at the end of its memory");
	is_int(calibrate_load_run(CALIBRATE_LOOP, (char *)memory, 3 * N * sizeof(*memory)), 0,
	       "a loop ends");
	free(memory);
}

/* With software events: CPU time, and page faults, of which a load has none. */
static void test_measure(struct counters *c, unsigned cpu)
{
	struct rank_sample s;
	struct errbuf err = { 0 };
	const struct calibrate_domain domain = { .id = 3, .cpus = set_of("0-1"), .cache = 1 };
	uint64_t peak = 7;

	is_int(calibrate_measure(&s, c, CALIBRATE_TRIAD, cpu, 1 << 20, &err), 0,
	       "a load is counted: %s", err.text);
	ok(s.kind == SAMPLE_COUNTED && s.misses == 0 && s.rate == 0 &&
		   s.instructions > CALIBRATE_MS * 1000000ul / 20 &&
		   s.instructions < CALIBRATE_MS * 1000000ul * 5,
	   "CPU time of a load, and no page fault");
	err.text[0] = '\0';
	is_int(calibrate_measure(&s, c, CALIBRATE_SCAN, 4095, 1 << 20, &err), -1,
	       "a load on a missing CPU is an error");
	is(err.text,
	   "a load of 8 MiB cannot run on CPU 4095: out of memory, or the caller may not use this "
	   "CPU",
	   "the refusal of a missing CPU names it");
	if (sysconf(_SC_NPROCESSORS_ONLN) >= 2) {
		is_int(calibrate_peak(&peak, c, &domain, &err), 0, "a peak is counted: %s",
		       err.text);
		is_int((long long)peak, 0, "the peak of loads without page faults is 0");
	} else {
		skip(2, "needs two CPUs");
	}
}

static char *printed(struct counters *c, struct calibrate_domain *d, unsigned n,
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
	text = printed(c, &domain, 1, &peaks, &err);
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
	is(text, want, "the report has measured rates beside expected ones");
	ok(domain.rate[CALIBRATE_SCAN] == 0 && domain.peak == 0, "a domain has what was measured");
	is(peaks.row, "soft", "the peaks are those of the row that counts");
	is_int(peaks.n, 0, "peaks of another row are gone");
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
	ok(!printed(c, NULL, 0, &peaks, &err), "without counters nothing is calibrated");
	is(err.text, "no counters on this host: contention_source is none",
	   "the refusal to calibrate has the reason");
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
