/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * A QEMU plugin that counts the guest's instructions on each virtual CPU. All virtual CPUs may run
 * in parallel (MTTCG): each block of translated code adds its length to counters that only the
 * executing CPU writes. When a program in the guest executes a marker (mark.c), the plugin appends
 * one line to out=FILE:
 *
 * 	ID NANOSECONDS USER KERNEL REPEATED CPU0 CPU1 ...
 *
 * NANOSECONDS is the host's monotonic clock. USER and KERNEL are the instructions since the guest
 * was switched on, in the lower and in the upper half of the address space. CPUn is USER + KERNEL
 * of one CPU. A repeated string instruction ("rep movsb") counts once, as on a processor. REPEATED
 * is the number of further rounds that QEMU executes for such instructions.
 *
 * Two things are not exact. A block that is interrupted, such as by a page fault, counts as a
 * whole, and its rest counts again. The counters of other CPUs are read while they count.
 *
 * The plugin must be built with the qemu-plugin.h of the QEMU that loads it. The script "plugin"
 * gets this header.
 */
#include <stdio.h>
#include <time.h>

#include "block.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

/* The counters of each CPU have a cache line of their own, so that no CPU waits for another. */
struct counter {
	_Alignas(64) uint64_t insns[2]; /* user, kernel */
	uint64_t repeated;
	uint64_t last_rep;
};

static struct counter counter[CPUS_MAX];
static int n_cpus;
static FILE *out;

static void insn_count_add(uint64_t *to, uint64_t n)
{
	/*
	 * only one CPU writes, so no locked instruction is needed; atomics keep readers from seeing
	 * torn values
	 */
	__atomic_store_n(to, __atomic_load_n(to, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

static uint64_t get(const uint64_t *from)
{
	return __atomic_load_n(from, __ATOMIC_RELAXED);
}

static void insn_count_block_runs(unsigned cpu, void *arg)
{
	const struct block *b = arg;
	struct counter *c = &counter[cpu < CPUS_MAX ? cpu : CPUS_MAX - 1];

	if (b->is_rep && c->last_rep == b->rep) {
		insn_count_add(&c->repeated, 1);
		return;
	}
	c->last_rep = b->rep;
	insn_count_add(&c->insns[b->kernel], b->insns);
}

static void insn_count_marker_runs(unsigned cpu, void *arg)
{
	uint64_t user = 0, kernel = 0, repeated = 0;
	struct timespec now;
	char text[CPUS_MAX * 21 + 120];
	int used;

	(void)cpu;
	clock_gettime(CLOCK_MONOTONIC, &now);
	for (int i = 0; i < n_cpus; i++) {
		user += get(&counter[i].insns[0]);
		kernel += get(&counter[i].insns[1]);
		repeated += get(&counter[i].repeated);
	}
	used = sprintf(text, "%u %lld %llu %llu %llu", (unsigned)(uintptr_t)arg,
		       (long long)now.tv_sec * 1000000000 + now.tv_nsec, (unsigned long long)user,
		       (unsigned long long)kernel, (unsigned long long)repeated);
	for (int i = 0; i < n_cpus; i++)
		used += sprintf(text + used, " %llu",
				(unsigned long long)(get(&counter[i].insns[0]) +
						     get(&counter[i].insns[1])));
	/* write the line in one call: stdio locks the file for each call */
	fprintf(out, "%s\n", text);
	fflush(out);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
					   char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (strncmp(argv[i], "out=", 4) == 0 && !out)
			out = fopen(argv[i] + 4, "ae");
		else
			fprintf(stderr, "insn-count: unknown argument \"%s\"\n", argv[i]);
	}
	if (!out || !info->system_emulation) {
		fprintf(stderr, "insn-count: needs out=FILE, a writable file, and qemu-system (not "
				"user emulation)\n");
		return -1;
	}
	n_cpus = watch_blocks(id, info, insn_count_block_runs, insn_count_marker_runs);
	return n_cpus < 0 ? -1 : 0;
}
