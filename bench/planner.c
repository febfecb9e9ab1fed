/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU time that the planner needs for four containers on machines of 1,024 threads. This
 * program is no test: it prints the median of RUNS plans, and the instructions of one plan if the
 * kernel allows counting them.
 *
 * usage: bench-planner [RUNS [SYNTHETIC|FILE.xml]]
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "topology/machine.h"

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static int planner_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int open_counter(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static void bench(const char *name, unsigned runs)
{
	struct machine *m;
	struct errbuf err;
	double start = now_ms(), load, *ms = calloc(runs, sizeof(*ms));
	long long instructions = -1;
	unsigned total;
	int fd = open_counter();

	if (!ms || machine_load_arg(&m, name, &err) < 0) {
		printf("%s: %s\n", name, ms ? err.text : "out of memory");
		exit(1);
	}
	load = now_ms() - start;
	total = idset_count(machine_cpus(m));
	for (unsigned r = 0; r < runs; r++) {
		struct plan_opts opts = { .cpus = *machine_cpus(m), .mems = *machine_mems(m) };
		struct plan_ask ask[] = {
			{ .name = "sim",
			  .cpus = total / 2 - 6,
			  .mems_kind = MEMS_COUNT,
			  .mems = idset_count(&opts.mems) > 1 ? 2 : 1 },
			{ .name = "vda", .cpus = total / 4 + 1 },
			{ .name = "viz", .cpus = total / 64, .smt = 1 },
			{ .name = "io", .cpus = 2, .mems_kind = MEMS_COUNT, .mems = 1 },
		};
		struct plan *plan;

		if (r == 0 && fd >= 0)
			ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		start = now_ms();
		if (plan_make(&plan, m, &opts, ask, 4, &err) < 0) {
			printf("%s: %s\n", name, err.text);
			exit(1);
		}
		ms[r] = now_ms() - start;
		if (r == 0 && fd >= 0) {
			ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
			if (read(fd, &instructions, sizeof(instructions)) != sizeof(instructions))
				instructions = -1;
		}
		plan_free(plan);
	}
	qsort(ms, runs, sizeof(*ms), planner_compare);
	printf("%-48s load %6.2f ms  plan median %6.3f ms  max %6.3f ms", name, load, ms[runs / 2],
	       ms[runs - 1]);
	if (instructions >= 0)
		printf("  %.1f M instructions", (double)instructions / 1e6);
	printf("\n");
	if (fd >= 0)
		close(fd);
	free(ms);
	machine_free(m);
}

int main(int argc, char **argv)
{
	static const char *const machines[] = {
		"package:4 numa:4 l3:4 core:8 pu:2", /* EPYC-like */
		"package:2 numa:1 core:256 pu:2", /* flat: the most candidates per domain */
		"package:8 numa:8 core:16 pu:1", /* no SMT: twice the cores */
		"core:1024 pu:1", /* flattest */
		"package:4 numa:2 l3:4 core:4 pu:8",
	};
	unsigned runs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 51;

	if (runs == 0)
		runs = 1;
	if (argc > 2) {
		bench(argv[2], runs);
		return 0;
	}
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		bench(machines[i], runs);
	return 0;
}
