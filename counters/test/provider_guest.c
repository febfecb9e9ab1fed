// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Print what the provider of counters.h counts of the loads of test/simllc/test/kinds.h, in the
 * small guests of test/simllc/boot.py, which puts the files of events.d into "/". Each fact is a
 * line, which boot.py checks.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "counters/calibrate.h"
#include "counters/sampling.h"
#include "kinds.h"

enum { BYTES = 8 << 20, CACHE = 4 << 20 };

static void __attribute__((noreturn)) fail_with(const char *what)
{
	printf("provider: %s: %s\n", what, strerror(errno));
	fflush(stdout);
	_exit(1);
}

static void pin_to_cpu(unsigned cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
		fail_with("sched_setaffinity");
}

static void sleep_ms(long ms)
{
	const struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* Run a load: report through descriptor 4 that it is ready, and wait for descriptor 3. */
static void *be_kind(void *arg)
{
	const char *kind = arg;
	char *at = mmap(NULL, 3 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0),
	     word = 0;

	if (at == MAP_FAILED)
		fail_with("mmap");
	memset(at, 0, 3 * BYTES);
	if (!strcmp(kind, "chase") && make_cycle(at, BYTES / LINE) < 0)
		fail_with("malloc");
	run_kind(kind, at, BYTES);
	if (write(3, &word, 1) != 1 || read(4, &word, 1) != 1)
		fail_with("pipe");
	for (;;)
		run_kind(kind, at, BYTES);
}

/* Run the load in a thread that is not the first. */
static void be_program(char *kind)
{
	pthread_t t;

	if (pthread_create(&t, NULL, be_kind, kind) == 0)
		pthread_join(t, NULL);
	_exit(1);
}

struct child {
	pid_t pid;
	int ready, go;
};

/* Fork a process on CPU 1 that waits for a byte before it executes this program as a load. */
static struct child fork_kind(char *kind)
{
	int ready[2], go[2];
	struct child c;
	char word;

	if (pipe(ready) < 0 || pipe(go) < 0)
		fail_with("pipe");
	fflush(stdout);
	c.pid = fork();
	if (c.pid == 0) {
		char *args[] = { "/provider", kind, NULL };

		pin_to_cpu(1);
		if (read(go[0], &word, 1) != 1 || dup2(ready[1], 63) < 0 || dup2(go[0], 62) < 0 ||
		    dup2(63, 3) < 0 || dup2(62, 4) < 0)
			fail_with("pipe");
		execv(args[0], args);
		fail_with(args[0]);
	}
	close(ready[1]);
	close(go[0]);
	c.ready = ready[0];
	c.go = go[1];
	return c;
}

static void start_load(const struct child *c)
{
	if (write(c->go, "g", 1) != 1)
		fail_with("pipe");
}

static void wait_until_ready(const struct child *c)
{
	char word;

	if (read(c->ready, &word, 1) != 1)
		fail_with("load");
}

static struct counter_group *begin_counting(struct counters *c, pid_t pid)
{
	struct counter_group *g;
	struct errbuf err = { 0 };

	if (counters_begin(c, pid, true, &g, &err) < 0)
		fail_with(err.text);
	return g;
}

static struct counter_reading read_counters(struct counter_group *g, uint64_t *remote)
{
	struct counter_reading r;
	struct errbuf err = { 0 };

	if (counters_read(g, &r, remote, &err) < 0)
		fail_with(err.text);
	return r;
}

/* Count KIND: if EARLY, from before the process executes the load, otherwise while it runs. */
static void count_kind(struct counters *c, const char *what, char *kind, int early)
{
	struct child child = fork_kind(kind);
	struct counter_group *g = early ? begin_counting(c, child.pid) : NULL;
	struct counter_reading a, b;
	uint64_t ra, rb;

	start_load(&child);
	wait_until_ready(&child);
	start_load(&child);
	sleep_ms(100);
	if (!g)
		g = begin_counting(c, child.pid);
	a = read_counters(g, &ra);
	sleep_ms(1500);
	b = read_counters(g, &rb);
	printf("provider %s %s %llu %llu %llu %llu %llu %u\n", what, kind,
	       (unsigned long long)(b.instructions - a.instructions),
	       (unsigned long long)(b.misses - a.misses), (unsigned long long)(rb - ra),
	       (unsigned long long)(b.enabled - a.enabled),
	       (unsigned long long)(b.running - a.running), counters_descriptors(g));
	counters_end(g);
	kill(child.pid, SIGKILL);
	waitpid(child.pid, NULL, 0);
	close(child.ready);
	close(child.go);
}

/* Return the second thread of PID, which runs the load. */
static pid_t find_load(pid_t pid)
{
	char path[64];
	glob_t tasks;
	pid_t tid;

	snprintf(path, sizeof(path), "/proc/%d/task/*", (int)pid);
	if (glob(path, 0, NULL, &tasks) != 0 || tasks.gl_pathc != 2)
		fail_with(path);
	tid = (pid_t)atol(strrchr(tasks.gl_pathv[1], '/') + 1);
	globfree(&tasks);
	return tid;
}

/* Print N, and the bytes between the first and the last address of the samples in L. */
static void print_samples(const struct miss_list *l, pid_t pid, unsigned long long misses)
{
	uint64_t low = UINT64_MAX, high = 0;
	unsigned others = 0;

	for (unsigned i = 0; i < l->n; i++) {
		low = l->miss[i].address < low ? l->miss[i].address : low;
		high = l->miss[i].address > high ? l->miss[i].address : high;
		others += l->miss[i].pid != pid;
	}
	printf("provider samples %u %llu %llu %u %llu\n", l->n, misses,
	       (unsigned long long)(l->n ? high - low : 0), others, (unsigned long long)l->lost);
}

/* Sample the misses of a scan by the processor's row. */
static void sample_scan(struct counters *c)
{
	static struct miss found[512];
	struct miss_list list = { .miss = found, .max = 512 };
	struct counters_about about;
	struct counter_reading a, b;
	struct counter_group *g;
	struct sampling *s;
	struct sampled *r;
	struct errbuf err = { 0 };
	struct child child;
	uint64_t remote;
	pid_t tid;

	counters_about(c, &about);
	if (sampling_open(&s, about.row, "", &err) < 0) {
		printf("provider samples %s\n", err.text);
		return;
	}
	child = fork_kind("scan");
	start_load(&child);
	wait_until_ready(&child);
	start_load(&child);
	sleep_ms(100);
	g = begin_counting(c, child.pid);
	tid = find_load(child.pid);
	if (sampled_begin(&r, s, &tid, 1, &err) < 0)
		fail_with(err.text);
	a = read_counters(g, &remote);
	sleep_ms(1500);
	b = read_counters(g, &remote);
	sampled_end(r, &list);
	print_samples(&list, child.pid, b.misses - a.misses);
	counters_end(g);
	kill(child.pid, SIGKILL);
	waitpid(child.pid, NULL, 0);
	close(child.ready);
	close(child.go);
	sampling_close(s);
}

/* Return the number of function call interrupts of CPU 1. */
static unsigned long count_call_interrupts(void)
{
	unsigned long first = 0, second = 0;
	char line[256];
	FILE *f = fopen("/proc/interrupts", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " CAL: %lu %lu", &first, &second) == 2)
			break;
	if (f)
		fclose(f);
	return second;
}

static void count_interrupts_of_reads(struct counters *c)
{
	struct child child = fork_kind("loop");
	struct counter_group *g;
	unsigned long before;
	uint64_t remote;

	start_load(&child);
	wait_until_ready(&child);
	start_load(&child);
	sleep_ms(200);
	g = begin_counting(c, child.pid);
	sleep_ms(200);
	before = count_call_interrupts();
	for (int i = 0; i < 50; i++) {
		sleep_ms(20);
		read_counters(g, &remote);
	}
	printf("provider interrupts %llu %lu\n", (unsigned long long)counters_interrupts(g),
	       count_call_interrupts() - before);
	counters_end(g);
	kill(child.pid, SIGKILL);
	waitpid(child.pid, NULL, 0);
}

static void print_peaks(struct counters *c)
{
	struct calibrate_domain d[2] = { { .id = 0, .cache = CACHE }, { .id = 1, .cache = CACHE } };
	struct contention_peaks peaks = { .n = 0 };
	struct errbuf err = { 0 };

	for (unsigned cpu = 0; cpu < 4; cpu++)
		idset_add(&d[cpu / 2].cpus, cpu);
	if (calibrate_domains(stdout, c, d, 2, &peaks, &err) < 0 ||
	    contention_peaks_write(&peaks, "/peaks", &err) < 0)
		fail_with(err.text);
	contention_peaks_free(&peaks);
	if (contention_peaks_read(&peaks, "/peaks", 0, &err) < 0)
		fail_with(err.text);
	for (unsigned i = 0; i < 2; i++)
		printf("provider peak %d %llu\n", d[i].id,
		       (unsigned long long)contention_peaks_find(&peaks, d[i].id, &d[i].cpus));
	contention_peaks_free(&peaks);
}

static struct counters *open_provider(const char *what)
{
	const struct counters_conf conf = { .source = "auto", .dirs = { "/" }, .user_only = true };
	struct counters_about about;
	struct counters *c;
	struct errbuf err = { 0 };

	if (counters_open(&c, &conf, &err) < 0)
		fail_with(err.text);
	counters_about(c, &about);
	printf("provider about %s %s %s %s %d %d %s\n", what, about.provider,
	       about.row ? about.row->name : "-",
	       about.row ? events_quality_name(about.row->quality) : "-", about.has_remote,
	       about.simulated, about.why);
	return c;
}

static void insert_module(const char *parameters)
{
	int fd = open("/simllc.ko", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, parameters, 0) < 0)
		fail_with("finit_module");
	close(fd);
}

static void remove_module(void)
{
	if (syscall(SYS_delete_module, "simllc", 0) < 0)
		fail_with("delete_module");
}

/* Count with a module whose PARAMETERS let a CPU count only few events at a time. */
static void count_few(const char *what, const char *parameters)
{
	struct counters *c;

	insert_module(parameters);
	c = open_provider(what);
	count_kind(c, what, "scan", 1);
	counters_close(c);
	remove_module();
}

int main(int argc, char **argv)
{
	static char *const kinds[] = { "loop", "scan", "triad", "chase" };
	struct counter_group *g;
	struct counters *c;
	struct errbuf err = { 0 };
	glob_t files;

	if (argc == 2)
		be_program(argv[1]);
	pin_to_cpu(0);
	/* the user that made the initramfs owns its files */
	if (chown("/", 0, 0) < 0 || chmod("/", 0755) < 0)
		fail_with("/");
	for (size_t i = 0; glob("/*.tab", 0, NULL, &files) == 0 && i < files.gl_pathc; i++)
		if (chown(files.gl_pathv[i], 0, 0) < 0)
			fail_with("chown");
	c = open_provider("all");
	for (int i = 0; i < 4; i++) {
		count_kind(c, "early", kinds[i], 1);
		count_kind(c, "late", kinds[i], 0);
	}
	count_interrupts_of_reads(c);
	sample_scan(c);
	print_peaks(c);
	remove_module();
	printf("provider gone %s\n",
	       counters_begin(c, getpid(), true, &g, &err) < 0 ? err.text : "counts");
	counters_close(c);
	counters_close(open_provider("gone"));
	count_few("three", "counters=3");
	count_few("one", "counters=1");
	printf("provider: end\n");
	return 0;
}
