/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * A QEMU plugin that counts the instructions of other programs and of the kernel on the CPUs where
 * the ranks of a program run. Between marker 1 and marker 2 (mark.c, guest.h), an instruction is
 * one of
 *
 * 	own	in user space, at an address of OWN=FIRST-LAST: the program of the ranks is the only
 * 		one there
 * 	kernel	in the kernel, system calls of the ranks included
 * 	other	in user space elsewhere
 *
 * "kernel" and "other" count only on a CPU that has a rank, which is one of the ranks=N CPUs that
 * executed own instructions last. So when a rank moves, the counted CPU changes, too; while a rank
 * waits for a CPU, the instructions of the program on that CPU count. Marker 2 appends a line to
 * out=FILE:
 *
 * 	OWN KERNEL OTHER ALL LONGEST STRETCHES...
 *
 * ALL is the instructions of all CPUs. A stretch is the "kernel" and "other" instructions that a
 * CPU executes between two own ones, in which its rank is out of its program: LONGEST is that of
 * the longest one, and STRETCHES are SIZES numbers, the first one of stretches below 4
 * instructions, each further one of those below four times as many, the last one of all others.
 * A repeated string instruction counts once. The plugin is for a QEMU with a single thread for all
 * CPUs (-icount).
 */
#include <stdio.h>

#include "block.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static int n_cpus;
static unsigned n_ranks;
static uint64_t own_first, own_last;
static FILE *out;

#define SIZES 16

static int counting;
static uint64_t turn, last_own[CPUS_MAX], last_rep[CPUS_MAX], stretch[CPUS_MAX];
static struct {
	uint64_t own, kernel, other, all, longest, stretches[SIZES];
} sum;

static int has_rank(unsigned cpu)
{
	unsigned later = 0;

	if (!last_own[cpu])
		return 0;
	for (int i = 0; i < n_cpus; i++)
		later += last_own[i] > last_own[cpu];
	return later < n_ranks;
}

/* The rank of CPU is in its program again, or on another CPU. */
static void end_stretch(unsigned cpu)
{
	unsigned size = 0;

	if (!stretch[cpu])
		return;
	while (size < SIZES - 1 && stretch[cpu] >> (2 * (size + 1)))
		size++;
	sum.stretches[size]++;
	if (stretch[cpu] > sum.longest)
		sum.longest = stretch[cpu];
	stretch[cpu] = 0;
}

static void rank_count_block_runs(unsigned cpu, void *arg)
{
	const struct block *b = arg;

	if (!counting)
		return;
	if (b->is_rep && last_rep[cpu] == b->rep)
		return;
	last_rep[cpu] = b->rep;
	sum.all += b->insns;
	if (b->address >= own_first && b->address <= own_last) {
		end_stretch(cpu);
		sum.own += b->insns;
		last_own[cpu] = ++turn;
	} else if (has_rank(cpu)) {
		*(b->kernel ? &sum.kernel : &sum.other) += b->insns;
		stretch[cpu] += b->insns;
	} else {
		end_stretch(cpu);
	}
}

static void write_sum(void)
{
	fprintf(out, "%llu %llu %llu %llu %llu", (unsigned long long)sum.own,
		(unsigned long long)sum.kernel, (unsigned long long)sum.other,
		(unsigned long long)sum.all, (unsigned long long)sum.longest);
	for (unsigned i = 0; i < SIZES; i++)
		fprintf(out, " %llu", (unsigned long long)sum.stretches[i]);
	fprintf(out, "\n");
	fflush(out);
}

static void rank_count_marker_runs(unsigned cpu, void *arg)
{
	(void)cpu;
	if ((uintptr_t)arg == 1) {
		memset(&sum, 0, sizeof(sum));
		memset(last_own, 0, sizeof(last_own));
		memset(stretch, 0, sizeof(stretch));
		counting = 1;
	} else if (counting) {
		counting = 0;
		write_sum();
	}
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
					   char **argv)
{
	unsigned long long first, last;

	for (int i = 0; i < argc; i++) {
		if (strncmp(argv[i], "out=", 4) == 0 && !out)
			out = fopen(argv[i] + 4, "ae");
		else if (sscanf(argv[i], "own=%llx-%llx", &first, &last) == 2)
			own_first = first, own_last = last;
		else if (sscanf(argv[i], "ranks=%u", &n_ranks) != 1)
			fprintf(stderr, "rank-count: unknown argument \"%s\"\n", argv[i]);
	}
	if (!out || !own_last || !n_ranks || !info->system_emulation) {
		fprintf(stderr, "rank-count: needs out=FILE, own=FIRST-LAST, ranks=N and a whole "
				"machine to emulate\n");
		return -1;
	}
	n_cpus = watch_blocks(id, info, rank_count_block_runs, rank_count_marker_runs);
	return n_cpus < 0 ? -1 : 0;
}
