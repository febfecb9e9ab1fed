/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests "nodeosctl contention --calibrate" on a tree of files in place of /sys: which calls it
 * refuses, and what it measures, prints and stores. Software events stand in for those of a
 * processor.
 */
#include "tools/contention_calibrate.h"

#include <sched.h>
#include <sys/mman.h>

#include "counters/peaks.h"
#include "counters/test/soft.h"

/* Both instructions and misses count nanoseconds of CPU time, so each rate is 10,000. */
#define TIME_ROW "Test-6-1 soft A-; instructions 0x1; misses 0x0; note none"
#define CACHE "sys/devices/system/cpu/cpu%u/cache/index3"
#define JOB "sys/fs/cgroup/system.slice/slurmstepd.scope/job_41"

static unsigned cpu; /* the only CPU of the tree */
static int kept, errors_fd;
static char errors[16384], *text;

static void put(const char *folder, const char *file, const char *content)
{
	char path[256];

	scratch_dir(folder);
	snprintf(path, sizeof(path), "%s/%s", folder, file);
	scratch_file(path, content);
}

static void make_tree(void)
{
	char cpus[32], folder[128];
	cpu_set_t set;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &set))
		cpu++;
	snprintf(cpus, sizeof(cpus), "%u\n", cpu);
	snprintf(folder, sizeof(folder), CACHE, cpu);
	put(folder, "level", "3\n");
	put(folder, "type", "Unified\n");
	put(folder, "shared_cpu_list", cpus);
	put(folder, "id", "5\n");
	put(folder, "size", "64K\n");
	put("sys/devices/system/cpu", "online", cpus);
	scratch_dir("sys/fs/cgroup");
	scratch_dir("var/lib");
}

/* Calibrate with C. Returns the exit status. The output is in TEXT, messages are in ERRORS. */
static int calibrated(struct calibration o, struct counters *c)
{
	size_t len;
	FILE *f;
	ssize_t n;
	int status;

	free(text);
	f = open_memstream(&text, &len);
	fflush(NULL);
	kept = dup(STDERR_FILENO);
	errors_fd = memfd_create("errors", 0);
	if (!f || kept < 0 || errors_fd < 0 || dup2(errors_fd, STDERR_FILENO) < 0)
		bail("no file for standard error");
	o.root = scratch;
	status = calibration_measure(&o, c, f);
	fclose(f);
	n = pread(errors_fd, errors, sizeof(errors) - 1, 0);
	errors[n > 0 ? n : 0] = '\0';
	dup2(kept, STDERR_FILENO);
	close(kept);
	close(errors_fd);
	return status;
}

/* Return the stored peak of the tree's only domain; 0: none. */
static uint64_t peak_kept(void)
{
	char dir[128], list[16];
	struct contention_peaks p;
	struct errbuf err;
	struct idset cpus;
	uint64_t peak;

	snprintf(dir, sizeof(dir), "%s" PEAKS_DIR, scratch);
	snprintf(list, sizeof(list), "%u", cpu);
	cpus = set_of(list);
	if (contention_peaks_read(&p, dir, getuid(), &err) < 0)
		bail("%s", err.text);
	peak = contention_peaks_find(&p, 5, &cpus);
	contention_peaks_free(&p);
	return peak;
}

static void test_source(const char *source, const char *want, const char *what)
{
	const struct counters_host host = { .root = scratch, .owner = getuid() };
	const struct counters_conf conf = { .source = source, .dirs = { scratch } };
	struct counters *c;
	struct errbuf err;

	if (counters_open_on(&c, &conf, &host, &err) < 0)
		bail("%s", err.text);
	is_int(calibrated((struct calibration){ .force = true }, c), 1,
	       "a calibration with %s is refused", what);
	is(errors, want, "a calibration with %s: the message has the reason", what);
	ok(peak_kept() == 0 && !*text, "a calibration with %s changes nothing", what);
	counters_close(c);
}

static void test_without(void)
{
	char replay[128];

	scratch_file("trace", "0 1 1 - 1 1\n");
	snprintf(replay, sizeof(replay), "replay:%s/trace", scratch);
	test_source("none",
		    "nodeosctl: contention: --calibrate: no counters on this host: "
		    "contention_source is none\n",
		    "contention_source = none");
	test_source(replay,
		    "nodeosctl: contention: --calibrate: contention_source is replay, which counts "
		    "no processes: set it to auto\n",
		    "a trace as the source");
	test_source("perf",
		    "nodeosctl: contention: --calibrate: no counters on this host: events.d has no "
		    "row for processor Test-6-1-1: see nodeos-events(5)\n",
		    "a processor without a row");
}

static void test_jobs(struct counters *c)
{
	put(JOB, "cgroup.events", "populated 1\nfrozen 0\n");
	is_int(calibrated((struct calibration){ 0 }, c), 1,
	       "a calibration while a job runs is refused");
	ok(strstr(errors,
		  "--calibrate: 1 job runs on this node: calibration would slow jobs down") &&
		   strstr(errors, "State=DRAIN") && strstr(errors, "--force"),
	   "the refusal names what to do about the job: %s", errors);
	ok(peak_kept() == 0, "a refused calibration stores no peak");
}

static void test_forced(struct counters *c)
{
	uint64_t peak;

	is_int(calibrated((struct calibration){ .force = true }, c), 3,
	       "--force calibrates although a job runs; the status is 3 because figures differ");
	ok(strstr(errors,
		  "calibrating 1 domain in turn: this loads their CPUs, and takes about 4 seconds"),
	   "a calibration announces its load and duration: %s", errors);
	ok(strstr(errors, "3 figures differ"), "a calibration reports three figures that differ");
	ok(strstr(text, "row soft, quality A-") && strstr(text, "domain 5, CPUs ") &&
		   strstr(text, "  scan       2500.0 "),
	   "the printed table has the row of events and the domain");
	peak = peak_kept();
	/* the peak is CPU nanoseconds per second: below 1e9 on a CPU that others use, too */
	ok(peak > 30000000 && peak < 1300000000, "a calibration stores the peak: %llu",
	   (unsigned long long)peak);
	ok(strstr(text, PEAKS_DIR "/" PEAKS_FILE) && strstr(text, "reload nodeos-contend"),
	   "a calibration prints where the peaks are, and how to reload the daemon");
}

static void test_json(struct counters *c)
{
	char want[512];

	put(JOB, "cgroup.events", "populated 0\nfrozen 0\n");
	is_int(calibrated((struct calibration){ .json = true }, c), 3,
	       "a job without processes does not prevent a calibration");
	snprintf(want, sizeof(want),
		 "  \"domains\": [\n    {\n      \"cache\": 5,\n      \"cpus\": \"%u\",\n"
		 "      \"cache_bytes\": 65536,\n      \"loads\": [\n        {\n"
		 "          \"load\": \"loop\",\n          \"expected\": 0.000,\n",
		 cpu);
	ok(*text == '{' && strstr(text, "\"row\": \"soft\"") && strstr(text, want) &&
		   strstr(text, "\"differs\": true"),
	   "--json prints the figures of each domain");
	ok(strstr(errors, "domain 5, CPUs ") && !strstr(text, "domain 5"),
	   "--json prints the table on standard error");
	if (*text != '{' || !strstr(text, want))
		diag("%s", text);
}

int main(void)
{
	struct counters *c;

	scratch_make();
	make_tree();
	scratch_dir("proc");
	scratch_file("proc/cpuinfo",
		     "vendor_id\t: Test\ncpu family\t: 6\nmodel\t\t: 1\nstepping\t: 1\n");
	test_without();
	c = open_soft(TIME_ROW, false);
	test_jobs(c);
	test_forced(c);
	test_json(c);
	counters_close(c);
	free(text);
	return tap_done();
}
