/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measure the CPU time that the planner needs for four containers on machines of 1,024 and 4,096
 * threads, and the CPU time for the map of 64 ranks in the first container. This program is not a
 * test. It prints the medians of RUNS plans and maps, and the instructions of one plan if the
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

#include "ranks/rankmap.h"
#include "topology/machine.h"

#define RANKS 64

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

/*
 * Plan four containers: half of the machine's threads less six, a quarter plus one, a 64th, and two
 * threads.
 */
static struct plan *make_plan(const struct machine *m, const char *name)
{
	struct plan_opts opts = { .cpus = *machine_cpus(m), .mems = *machine_mems(m) };
	const unsigned total = idset_count(&opts.cpus);
	struct plan_ask ask[] = {
		{ .name = "sim",
		  .cpus = total / 2 - 6,
		  .mems_kind = MEMS_COUNT,
		  .mems = idset_count(&opts.mems) > 1 ? 2 : 1 },
		{ .name = "vda", .cpus = total / 4 + 1 },
		{ .name = "viz", .cpus = total / 64, .smt = 1 },
		{ .name = "io", .cpus = 2, .mems_kind = MEMS_COUNT, .mems = 1 },
	};
	struct errbuf err;
	struct plan *plan;

	if (plan_make(&plan, m, &opts, ask, 4, &err) == 0)
		return plan;
	printf("%s: %s\n", name, err.text);
	exit(1);
}

/*
 * Fill IN for RANKS ranks in CPUS, with the cores and domains that a launch would read from sysfs.
 */
static void list_machine_cores(struct rankmap_in *in, const struct machine *m,
			       const struct idset *cpus)
{
	struct plan_core *core;
	struct idset *domain, *threads;
	struct errbuf err;

	*in = (struct rankmap_in){ .n_ranks = RANKS, .container = cpus };
	if (machine_cores(m, cpus, &core, &in->n_cores, &err) < 0 ||
	    machine_domains(m, &domain, &in->n_domains, &err) < 0)
		exit(1);
	threads = calloc(in->n_cores, sizeof(*threads));
	if (!threads)
		exit(1);
	for (unsigned c = 0; c < in->n_cores; c++)
		threads[c] = core[c].cpus;
	free(core);
	in->core = threads;
	in->domain = domain;
}

/* Map the ranks of IN. */
static void make_ranks(const struct rankmap_in *in)
{
	struct idset *out = calloc(RANKS, sizeof(*out));
	struct errbuf err;

	if (!out || rankmap_make(in, out, &err) < 0) {
		printf("%s\n", out ? err.text : "out of memory");
		exit(1);
	}
	free(out);
}

/*
 * Return the number of instructions of one plan, or -1 if the kernel does not allow counting them.
 */
static long long count_instructions(const struct machine *m, const char *name)
{
	long long instructions = -1;
	const int fd = open_counter();

	if (fd < 0)
		return -1;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	plan_free(make_plan(m, name));
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(fd, &instructions, sizeof(instructions)) != sizeof(instructions))
		instructions = -1;
	close(fd);
	return instructions;
}

static void bench(const char *name, unsigned runs)
{
	struct machine *m;
	struct plan *plan;
	struct rankmap_in ranks;
	struct errbuf err;
	double start = now_ms(), load, *ms = calloc(2 * runs, sizeof(*ms));
	long long instructions;

	if (!ms || machine_load_arg(&m, name, &err) < 0) {
		printf("%s: %s\n", name, ms ? err.text : "out of memory");
		exit(1);
	}
	load = now_ms() - start;
	instructions = count_instructions(m, name);
	plan = make_plan(m, name);
	list_machine_cores(&ranks, m, &plan->container[0].cpus);
	for (unsigned r = 0; r < runs; r++) {
		struct plan *again;

		start = now_ms();
		again = make_plan(m, name);
		ms[r] = now_ms() - start;
		plan_free(again);
		start = now_ms();
		make_ranks(&ranks);
		ms[runs + r] = now_ms() - start;
	}
	qsort(ms, runs, sizeof(*ms), planner_compare);
	qsort(ms + runs, runs, sizeof(*ms), planner_compare);
	printf("%-34s load %6.2f ms  plan median %6.3f ms  max %6.3f ms  ranks median %6.3f ms",
	       name, load, ms[runs / 2], ms[runs - 1], ms[runs + runs / 2]);
	if (instructions >= 0)
		printf("  %.1f M instructions", (double)instructions / 1e6);
	printf("\n");
	free(ms);
	free((void *)ranks.core);
	free((void *)ranks.domain);
	plan_free(plan);
	machine_free(m);
}

int main(int argc, char **argv)
{
	static const char *const machines[] = {
		"package:4 numa:4 l3:4 core:8 pu:2", /* EPYC-like */
		"package:2 numa:1 core:256 pu:2", /* the most candidates in one domain */
		"package:8 numa:8 core:16 pu:1", /* no SMT, so twice as many cores */
		"core:1024 pu:1", /* one domain only */
		"package:4 numa:2 l3:4 core:4 pu:8",
		"package:8 numa:8 l3:4 core:8 pu:2", /* the following machines have 4,096 threads */
		"package:2 numa:1 core:1024 pu:2",
		"package:16 numa:16 core:16 pu:1",
		"package:4 core:1024 pu:1",
		"package:8 numa:4 l3:4 core:4 pu:8",
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
