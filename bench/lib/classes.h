/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For programs in guests: arms of scheduling, random numbers and lists of words. */
#ifndef NODEOS_BENCH_CLASSES_H
#define NODEOS_BENCH_CLASSES_H

#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "bench/lib/guest.h"

#define POLICY_HPC 48
#define QUANTUM 10000000 /* ns, the default of containers */

static const struct arm {
	const char *name;
	int policy, priority, own_cpu;
	const char *partition; /* kind of cpuset partition around the ranks; NULL: none */
} arm_kinds[] = {
	{ "cfs", SCHED_OTHER, 0, 0, NULL }, /* the default class, on any of the CPUs */
	{ "pinned", SCHED_OTHER, 0, 1, NULL }, /* the default class, a CPU for each rank */
	{ "fifo", SCHED_FIFO, 1, 1, NULL }, /* SCHED_FIFO, priority 1, a CPU for each rank */
	{ "root", SCHED_OTHER, 0, 1, "root" }, /* pinned, in a partition of the ranks' CPUs */
	{ "iso", SCHED_OTHER, 0, 1, "isolated" },
	{ "isofifo", SCHED_FIFO, 1, 1, "isolated" },
	{ "user", POLICY_HPC, 0, 1, NULL }, /* SCHED_HPC, placed by the user: a CPU for each rank */
	{ "rr", POLICY_HPC, 1, 0, NULL }, /* SCHED_HPC, placed by the kernel */
	{ "topo", POLICY_HPC, 2, 0, NULL },
	{ "inside", POLICY_HPC, 0, 1, "root" }, /* SCHED_HPC in a partition */
	{ NULL, 0, 0, 0, NULL },
};

/* struct sched_attr of sched_setattr(2), which the C library does not declare */
struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* Return the arm NAME, or end the program if there is no such arm. */
static inline const struct arm *arm_of(const char *name)
{
	const struct arm *a;

	for (a = arm_kinds; strcmp(a->name, name) != 0; a++)
		if (!a[1].name)
			die(name);
	return a;
}

static inline void on_cpus(int first, int last)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int i = first; i <= last; i++)
		CPU_SET(i, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		die("sched_setaffinity");
}

static inline void take_class(const struct arm *arm)
{
	struct attr a = { .size = sizeof(a),
			  .policy = (uint32_t)arm->policy,
			  .priority = (uint32_t)arm->priority };

	if (arm->policy == SCHED_OTHER)
		return;
	if (arm->policy == POLICY_HPC)
		a.runtime = QUANTUM;
	if (syscall(SYS_sched_setattr, 0, &a, 0) < 0)
		die("sched_setattr");
}

/* Return a number below BELOW (xorshift64). */
static inline uint64_t draw(uint64_t *state, uint64_t below)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state % below;
}

/* Split TEXT, which is modified, into words at "+"; returns the number of words. */
static inline int split(char *text, char **word, int max)
{
	int n = 0;

	for (char *w = strtok(text, "+"); w && n < max; w = strtok(NULL, "+"))
		word[n++] = w;
	return n;
}

#endif
