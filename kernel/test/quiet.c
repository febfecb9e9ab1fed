/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * quiet SECONDS CPU: counts the kernel's own work on CPU while a program there computes, faults
 * pages in, and makes and removes a cgroup, first under SCHED_FIFO, then under SCHED_HPC. Every 2.5
 * s, when the guard is not active, a program on CPU 1 wakes a program of the default class that is
 * bound to CPU. Another program on CPU 1 repeatedly adds and removes a watch of a file. Prints
 * lines "quiet POLICY EVENT COUNT" for these events: calls of functions (by kprobes), interrupts
 * sent by dl_server_start() and by wakeups, callbacks of SRCU on the next CPU, and timer
 * interrupts.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRACE "/trace"
#define SCHED_HPC 48

static const char *const function[] = { "clocksource_watchdog", "task_mm_cid_work",
					"vmstat_update",	"sched_balance_softirq",
					"css_killed_work_fn",	"srcu_invoke_callbacks" };
#define FUNCTIONS (sizeof(function) / sizeof(function[0]))

static int the_cpu;

static void put(const char *path, const char *text)
{
	/* O_TRUNC would remove the existing probes */
	int fd = open(path, O_WRONLY | O_APPEND);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		printf("%s: %s: %s\n", path, text, strerror(errno));
	if (fd >= 0)
		close(fd);
}

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		printf("sched_setaffinity: %s\n", strerror(errno));
}

/*
 * Return the number of interrupts of the_cpu in the line NAME of /proc/interrupts, such as "RES:".
 */
static unsigned long interrupts(const char *name)
{
	char line[1024], *at;
	unsigned long n = 0;
	FILE *f = fopen("/proc/interrupts", "r");

	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, name);
		if (!at)
			continue;
		at += strlen(name);
		for (int i = 0; i <= the_cpu; i++)
			n = strtoul(at, &at, 10);
	}
	if (f)
		fclose(f);
	return n;
}

static void compute(int policy)
{
	struct sched_param p = { .sched_priority = policy == SCHED_FIFO };
	volatile unsigned long n;

	on_cpu(the_cpu);
	if (sched_setscheduler(0, policy, &p) < 0)
		printf("sched_setscheduler: %s\n", strerror(errno));
	for (;;) {
		char *page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (int i = 0; page != MAP_FAILED && i < 1 << 20; i += 4096)
			page[i] = 1;
		for (n = 0; n < 1000000; n++)
			;
		munmap(page, 1 << 20);
		mkdir("/cg/quiet", 0755);
		rmdir("/cg/quiet");
	}
}

/* Add and remove watches of a file; at each removal the kernel waits for callbacks of SRCU. */
static void watch_files(void)
{
	struct timespec pause = { .tv_nsec = 100000000 };

	for (;;) {
		int watch = inotify_init();

		if (inotify_add_watch(watch, "/", IN_CREATE) < 0)
			printf("inotify: %s\n", strerror(errno));
		close(watch);
		nanosleep(&pause, NULL);
	}
}

/* Count the lines of FILE that contain TEXT and do not contain EXCEPT. */
static unsigned long lines_with(const char *file, const char *text, const char *except)
{
	char line[512], path[64];
	unsigned long n = 0;
	FILE *f;

	snprintf(path, sizeof(path), TRACE "/%s", file);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, text) && !strstr(line, except);
	if (f)
		fclose(f);
	return n;
}

/*
 * Print the counts of the trace, without the events of the process FAIR, which is woken on purpose.
 */
static void count_calls(const char *name, pid_t fair)
{
	char file[64], its[32], call[64];

	snprintf(its, sizeof(its), "-%d ", (int)fair);
	/* search the events of all CPUs: another CPU sends these interrupts */
	printf("quiet %s reschedules %lu\n", name,
	       lines_with("trace", "callsite=dl_server_start", its));
	printf("quiet %s wakeups %lu\n", name, lines_with("trace", "func=sched_ttwu_pending", its));
	snprintf(file, sizeof(file), "per_cpu/cpu%d/trace", the_cpu);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		snprintf(call, sizeof(call), ": %s: (", function[i]);
		printf("quiet %s %s %lu\n", name, function[i], lines_with(file, call, its));
	}
	snprintf(file, sizeof(file), "per_cpu/cpu%d/trace", the_cpu + 1);
	printf("quiet %s next %lu\n", name, lines_with(file, ": srcu_invoke_callbacks: (", its));
}

static void scene(const char *name, int policy, int seconds)
{
	struct timespec at, settle = { .tv_sec = 2 };
	unsigned long ticks;
	pid_t pid[3];
	int wake[2];

	if (pipe(wake) < 0)
		return;
	fflush(stdout);
	pid[0] = fork();
	if (pid[0] == 0)
		compute(policy);
	pid[1] = fork();
	if (pid[1] == 0) {
		char byte;

		on_cpu(the_cpu);
		while (read(wake[0], &byte, 1) == 1)
			;
		_exit(0);
	}
	pid[2] = fork();
	if (pid[2] == 0)
		watch_files();
	nanosleep(&settle, NULL);
	close(open(TRACE "/trace", O_WRONLY | O_TRUNC));
	put(TRACE "/events/kprobes/enable", "1");
	put(TRACE "/events/ipi/ipi_send_cpu/enable", "1");
	put(TRACE "/events/csd/csd_queue_cpu/enable", "1");
	ticks = interrupts("LOC:");
	clock_gettime(CLOCK_MONOTONIC, &at);
	for (int i = 0; i < seconds * 2 / 5; i++) {
		if (write(wake[1], "", 1) < 0)
			printf("write: %s\n", strerror(errno));
		at.tv_sec += 2;
		at.tv_nsec += 500000000;
		at.tv_sec += at.tv_nsec / 1000000000;
		at.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	}
	printf("quiet %s ticks %lu\n", name, interrupts("LOC:") - ticks);
	put(TRACE "/events/kprobes/enable", "0");
	put(TRACE "/events/ipi/ipi_send_cpu/enable", "0");
	put(TRACE "/events/csd/csd_queue_cpu/enable", "0");
	count_calls(name, pid[1]);
	for (int i = 0; i < 3; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	close(wake[0]);
	close(wake[1]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 10;
	char line[128];

	the_cpu = argc > 2 ? atoi(argv[2]) : 0;
	on_cpu(1);
	mkdir(TRACE, 0755);
	if (mount("tracefs", TRACE, "tracefs", 0, NULL) < 0)
		printf("tracefs: %s\n", strerror(errno));
	for (size_t i = 0; i < FUNCTIONS; i++) {
		snprintf(line, sizeof(line), "p:%s %s\n", function[i], function[i]);
		put(TRACE "/kprobe_events", line);
	}
	snprintf(line, sizeof(line), "cpu==%d", the_cpu);
	put(TRACE "/events/ipi/ipi_send_cpu/filter", line);
	put(TRACE "/events/csd/csd_queue_cpu/filter", line);
	scene("fifo", SCHED_FIFO, seconds);
	scene("hpc", SCHED_HPC, seconds);
	return 0;
}
