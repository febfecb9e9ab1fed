/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters/calibrate.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"

#define TIMES 4 /* memory of all loads of a domain together, as a multiple of its cache */
/* least bytes of a load: more than the private caches of a core */
#define SHARE_MIN (8ul * 1024 * 1024)
#define READY_MS 120000 /* milliseconds that a load may take to get its memory */
#define FAR 10 /* percent; a larger difference between measured and expected rate is reported */

/* A process that runs a load. */
struct load {
	pid_t pid;
	/*
	 * our ends of pipes: the load writes to READY when it has its memory, and then waits for GO
	 */
	int ready, go;
	struct counter_group *group;
	struct counter_reading before;
	struct rank_sample sample;
};

struct load_kind {
	enum calibrate_load load;
	unsigned cpu;
	size_t bytes;
};

/* Run the load K in this process until it is killed. */
static void __attribute__((noreturn)) run_load(const struct load_kind *k, int ready, int go)
{
	cpu_set_t *cpus = CPU_ALLOC(IDSET_MAX);
	char *memory, word = 'r';

	if (!cpus || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		_exit(1);
	CPU_ZERO_S(CPU_ALLOC_SIZE(IDSET_MAX), cpus);
	CPU_SET_S(k->cpu, CPU_ALLOC_SIZE(IDSET_MAX), cpus);
	if (sched_setaffinity(0, CPU_ALLOC_SIZE(IDSET_MAX), cpus) < 0)
		_exit(1);
	memory = mmap(NULL, k->bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED)
		_exit(1);
	memset(memory, 0,
	       k->bytes); /* get own pages in place of the kernel's shared page of zeros */
	if (write(ready, &word, 1) != 1 || read(go, &word, 1) != 1)
		_exit(1);
	while (calibrate_load_run(k->load, memory, k->bytes) == 0)
		;
	_exit(1);
}

static void end_load(struct load *l)
{
	counters_end(l->group);
	kill(l->pid, SIGKILL);
	while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(l->ready);
	close(l->go);
}

static int fork_load(struct load *l, const struct load_kind *k)
{
	int ready[2], go[2];

	if (pipe(ready) < 0)
		return -1;
	if (pipe(go) < 0) {
		close(ready[0]);
		close(ready[1]);
		return -1;
	}
	l->pid = fork();
	if (l->pid == 0) {
		close(ready[0]);
		close(go[1]);
		run_load(k, ready[1], go[0]);
	}
	close(ready[1]);
	close(go[0]);
	l->ready = ready[0];
	l->go = go[1];
	if (l->pid > 0)
		return 0;
	close(l->ready);
	close(l->go);
	return -1;
}

/* Start a load. When this returns, the load has its memory and its counters, and waits for GO. */
static int start_load(struct load *l, struct counters *c, const struct load_kind *k,
		      struct errbuf *err)
{
	struct pollfd fd;
	char word;

	*l = (struct load){ .pid = 0 };
	if (fork_load(l, k) < 0)
		return errprintf(err, "cannot start a load: %s", strerror(errno));
	fd = (struct pollfd){ .fd = l->ready, .events = POLLIN };
	if (poll(&fd, 1, READY_MS) != 1 || read(l->ready, &word, 1) != 1)
		errprintf(err,
			  "a load of %zu MiB cannot run on CPU %u: out of memory, or this user"
			  " may not use the CPU",
			  k->bytes >> 20, k->cpu);
	else if (counters_begin(c, l->pid, false, &l->group, err) == 0)
		return 0;
	end_load(l);
	return -1;
}

static void sleep_ms(long ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

static int read_loads(struct load *l, unsigned n, struct errbuf *err)
{
	struct counter_reading now;
	uint64_t remote;

	for (unsigned i = 0; i < n; i++) {
		if (counters_read(l[i].group, &now, &remote, err) < 0)
			return -1;
		classify_difference(&l[i].sample, &classify_default, &l[i].before, &now);
		l[i].before = now;
	}
	return 0;
}

/* Let the N loads run, and count them for CALIBRATE_MS; *SECONDS gets the exact time. */
static int count_loads(struct load *l, unsigned n, double *seconds, struct errbuf *err)
{
	long start;

	for (unsigned i = 0; i < n; i++)
		if (write(l[i].go, "g", 1) != 1)
			return errprintf(err, "a load has ended: %s", strerror(errno));
	sleep_ms(CALIBRATE_MS / 5); /* until the caches have the loads' data */
	if (read_loads(l, n, err) < 0)
		return -1;
	start = monotonic_ms();
	sleep_ms(CALIBRATE_MS);
	if (read_loads(l, n, err) < 0)
		return -1;
	*seconds = (double)(monotonic_ms() - start) / 1000;
	for (unsigned i = 0; i < n; i++)
		if (l[i].sample.kind == SAMPLE_MISSING)
			return errprintf(err, "a load was not counted: it did not run, or other"
					      " programs use the counters");
	return 0;
}

/* Return the bytes of memory for each of N loads that share a cache of CACHE bytes. */
static size_t choose_bytes(uint64_t cache, unsigned n)
{
	uint64_t bytes = (cache ? cache : CALIBRATE_CACHE) * TIMES / n;

	if (bytes < SHARE_MIN)
		bytes = SHARE_MIN;
	return (bytes + 191) / 192 * 192;
}

/* Like count_loads(), without SIGPIPE, which would end the caller if a load has ended. */
static int count_loads_safely(struct load *l, unsigned n, double *seconds, struct errbuf *err)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	int rc;

	sigaction(SIGPIPE, &ignore, &before);
	rc = count_loads(l, n, seconds, err);
	sigaction(SIGPIPE, &before, NULL);
	return rc;
}

int calibrate_measure(struct rank_sample *out, struct counters *c, enum calibrate_load load,
		      unsigned cpu, uint64_t cache, struct errbuf *err)
{
	const struct load_kind kind = {
		.load = load,
		.cpu = cpu,
		.bytes = choose_bytes(cache, 1),
	};
	struct load l;
	double seconds;
	int rc;

	if (start_load(&l, c, &kind, err) < 0)
		return -1;
	rc = count_loads_safely(&l, 1, &seconds, err);
	*out = l.sample;
	end_load(&l);
	return rc;
}

int calibrate_peak(uint64_t *out, struct counters *c, const struct calibrate_domain *domain,
		   struct errbuf *err)
{
	unsigned n = idset_count(&domain->cpus), started = 0;
	struct load *l = calloc(n ? n : 1, sizeof(*l));
	double seconds, misses = 0;
	int rc = 0;

	if (!l)
		return errprintf(err, "out of memory");
	for (int cpu = idset_next(&domain->cpus, -1); cpu >= 0 && rc == 0;
	     cpu = idset_next(&domain->cpus, cpu)) {
		const struct load_kind kind = {
			.load = CALIBRATE_SCAN,
			.cpu = (unsigned)cpu,
			.bytes = choose_bytes(domain->cache, n),
		};

		rc = start_load(&l[started], c, &kind, err);
		started += rc == 0;
	}
	if (rc == 0)
		rc = count_loads_safely(l, started, &seconds, err);
	for (unsigned i = 0; i < started; i++) {
		misses += (double)l[i].sample.misses;
		end_load(&l[i]);
	}
	free(l);
	if (rc == 0)
		*out = (uint64_t)(misses / seconds);
	return rc;
}

/* ------------------------------------------------------------------ report */

static double as_misses(uint32_t rate)
{
	return (double)rate / CLASSIFY_RATE_UNIT;
}

bool calibrate_differs(enum calibrate_load load, uint32_t rate)
{
	double expected = as_misses(calibrate_load_rate(load)), got = as_misses(rate);

	if (expected <= 0) /* the loop: any rate far below a turtle's bound is correct */
		return got > classify_default.turtle / 10.0;
	return got < expected * (100 - FAR) / 100 || got > expected * (100 + FAR) / 100;
}

static void print_rate(FILE *f, enum calibrate_load load, uint32_t measured)
{
	double expected = as_misses(calibrate_load_rate(load)), got = as_misses(measured);

	fprintf(f, "  %-6s %10.1f %10.1f", calibrate_load_name(load), expected, got);
	if (expected > 0)
		fprintf(f, "   %+.1f %%", 100 * (got - expected) / expected);
	fprintf(f, "%s\n", calibrate_differs(load, measured) ? "   differs" : "");
	fflush(f);
}

static int calibrate_domain(FILE *f, struct counters *c, struct calibrate_domain *d,
			    struct contention_peaks *peaks, struct errbuf *err)
{
	char cpus[128];
	int cpu = idset_next(&d->cpus, -1);

	if (cpu < 0)
		return 0;
	fprintf(f, "domain %d, CPUs %s\n  %-6s %10s %10s\n", d->id, idset_brief(cpus, &d->cpus), "",
		"expected", "measured");
	fflush(f);
	for (unsigned i = 0; i < CALIBRATE_LOADS; i++) {
		enum calibrate_load load = (enum calibrate_load)i;
		struct rank_sample s;

		if (calibrate_measure(&s, c, load, (unsigned)cpu, d->cache, err) < 0)
			return errwrap(err, "domain %d, %s", d->id, calibrate_load_name(load));
		d->rate[i] = s.rate;
		print_rate(f, load, s.rate);
	}
	if (calibrate_peak(&d->peak, c, d, err) < 0)
		return errwrap(err, "domain %d, peak", d->id);
	fprintf(f, "  peak   %" PRIu64 " misses a second, %.1f GB/s of lines\n", d->peak,
		(double)d->peak * CALIBRATE_LINE / 1e9);
	fflush(f);
	if (d->peak && contention_peaks_set(peaks, d->id, &d->cpus, d->peak) < 0)
		return errprintf(err, "out of memory");
	return 0;
}

int calibrate_check(const struct counters *c, struct errbuf *err)
{
	struct counters_about about;

	counters_about(c, &about);
	if (about.why[0])
		return errprintf(err, "no counters on this host: %s", about.why);
	if (!about.row)
		return errprintf(err,
				 "contention_source is %s, which counts no processes: set it to"
				 " auto",
				 about.provider);
	return 0;
}

int calibrate_domains(FILE *f, struct counters *c, struct calibrate_domain *domain, unsigned n,
		      struct contention_peaks *peaks, struct errbuf *err)
{
	struct counters_about about;

	if (calibrate_check(c, err) < 0)
		return -1;
	counters_about(c, &about);
	if (strcmp(peaks->row, about.row->name) != 0 || peaks->simulated != about.simulated)
		contention_peaks_free(peaks);
	snprintf(peaks->row, sizeof(peaks->row), "%s", about.row->name);
	peaks->simulated = about.simulated;
	fprintf(f, "row %s, quality %s%s; misses for 10,000 instructions\n", about.row->name,
		events_quality_name(about.row->quality),
		about.simulated ? "; all figures are of a simulated cache" : "");
	if (about.row->note[0])
		fprintf(f, "note: %s\n", about.row->note);
	for (unsigned i = 0; i < n; i++)
		if (calibrate_domain(f, c, &domain[i], peaks, err) < 0)
			return -1;
	return 0;
}
