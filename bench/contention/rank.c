/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * rank SHARED SPEC,SPEC...: rank number r of a Slurm step has SPEC number r. A SPEC is
 * KIND:KIB:PASSES:DELAY. The rank sleeps DELAY tenths of a second, and maps and touches KIB KiB.
 * When all ranks have done this, all begin to work; they count down in the file SHARED, which is
 * all zero at first. A rank of KIND "scan" reads its memory PASSES times. A rank of KIND "loop"
 * computes without memory until all scans have ended. With NODEOS_BIND=1 in the environment, the
 * rank binds its memory to the node on which it starts, as numactl --membind does.
 *
 * Each second, and at the end, the rank writes a line with: its passes; the seconds since it began
 * to work; counts of its user code (instructions, cache lines from memory, and cache lines from the
 * other node's memory); the time for which the simulated memory has stopped the rank; its CPU; and
 * the KiB of its memory on each of two nodes (numa_maps):
 *
 *  rank RANK KIND pass PASSES seconds S instructions N misses N remote N stall S cpu CPU kib A B
 */
#define _GNU_SOURCE
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "bench/lib/llc.h"

enum { CONTENTION_SPECS = 32 };

struct meeting {
	atomic_int ready, scans_left;
};

struct contention_rank {
	int number;
	char kind[16], *at;
	size_t bytes;
	long passes, delay;
	struct llc llc;
	int stall; /* descriptor of the counter of the time for which memory stops the rank */
	uint64_t first[LLC_EVENTS], first_stall;
	double began;
};

static double clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/*
 * Read the memory with 4 instructions per 8 bytes. If each cache line misses, this makes 312.5
 * misses per 10,000 instructions.
 */
static void scan_once(const char *at, const char *end)
{
	uint64_t sum = 0;

	__asm__ volatile("1: add (%0), %1\n\tadd $8, %0\n\tcmp %2, %0\n\tjne 1b"
			 : "+r"(at), "+r"(sum)
			 : "r"(end)
			 : "cc", "memory");
}

/* Compute for ROUNDS rounds. A round has 4 instructions, which access no memory. */
static void loop_once(uint64_t rounds)
{
	double x = 1;

	__asm__ volatile("1: mulsd %0, %0\n\taddsd %0, %0\n\tdec %1\n\tjnz 1b"
			 : "+x"(x), "+r"(rounds)
			 :
			 : "cc");
}

static void bind_here(void)
{
	unsigned node;
	unsigned long mask;

	if (getcpu(NULL, &node) < 0)
		die("getcpu");
	mask = 1UL << node;
	if (syscall(SYS_set_mempolicy, MPOL_BIND, &mask, 64) < 0)
		die("set_mempolicy");
}

static void count_stall(struct contention_rank *r)
{
	struct perf_event_attr a = { .size = sizeof(a) };

	a.type = (uint32_t)llc_number("type", "");
	a.config = llc_number("events/stall-ns", "counters=");
	r->stall = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (r->stall < 0)
		die("stall-ns");
}

static uint64_t read_stall(const struct contention_rank *r)
{
	uint64_t ns;

	if (read(r->stall, &ns, sizeof(ns)) != sizeof(ns))
		die("stall-ns");
	return ns;
}

/* Write to KIB how many KiB of the mapping at AT are on each of two nodes. Its pages have 4 KiB. */
static void find_nodes(const char *at, long kib[2])
{
	char line[512];
	FILE *f = fopen("/proc/self/numa_maps", "r");

	kib[0] = kib[1] = 0;
	if (!f)
		die("numa_maps");
	while (fgets(line, sizeof(line), f)) {
		char *word = line;

		if (strtoul(line, NULL, 16) != (unsigned long)at)
			continue;
		while ((word = strstr(word, " N"))) {
			int node = atoi(word + 2);
			const char *n = strchr(word, '=');

			if (n && (node == 0 || node == 1))
				kib[node] = 4 * atol(n + 1);
			word += 2;
		}
	}
	fclose(f);
}

static void show_rank(const struct contention_rank *r, long pass)
{
	uint64_t now[LLC_EVENTS];
	long kib[2];

	llc_read(&r->llc, now);
	find_nodes(r->at, kib);
	printf("rank %d %s pass %ld seconds %.2f instructions %llu misses %llu remote %llu "
	       "stall %.3f cpu %d kib %ld %ld\n",
	       r->number, r->kind, pass, clock_now() - r->began,
	       (unsigned long long)(now[0] - r->first[0]),
	       (unsigned long long)(now[1] - r->first[1]),
	       (unsigned long long)(now[2] - r->first[2]),
	       (double)(read_stall(r) - r->first_stall) / 1e9, sched_getcpu(), kib[0], kib[1]);
	fflush(stdout);
}

static void work(struct contention_rank *r, struct meeting *m)
{
	struct timespec nap = { .tv_nsec = 1000000 };
	bool scan = strcmp(r->kind, "scan") == 0;
	double shown;
	long pass = 0;

	llc_open(&r->llc, 0, 0);
	count_stall(r);
	atomic_fetch_sub(&m->ready, 1);
	while (atomic_load(&m->ready) > 0)
		nanosleep(&nap, NULL);
	llc_read(&r->llc, r->first);
	r->first_stall = read_stall(r);
	shown = r->began = clock_now();
	while (scan ? pass < r->passes : atomic_load(&m->scans_left) > 0) {
		if (scan)
			scan_once(r->at, r->at + r->bytes);
		else
			loop_once(r->bytes / 8);
		pass++;
		if (clock_now() - shown >= 1 && (!scan || pass < r->passes)) {
			shown = clock_now();
			show_rank(r, pass);
		}
	}
	show_rank(r, pass);
	if (scan)
		atomic_fetch_sub(&m->scans_left, 1);
}

static struct meeting *meet(const char *path, int ranks, int scans)
{
	int none = 0, fd = open(path, O_RDWR);
	struct meeting *m;

	if (fd < 0)
		die(path);
	m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (m == MAP_FAILED)
		die("mmap");
	/* the rank that comes first sets both numbers */
	if (atomic_compare_exchange_strong(&m->ready, &none, ranks))
		atomic_store(&m->scans_left, scans);
	return m;
}

int main(int argc, char **argv)
{
	const char *number = getenv("SLURM_PROCID"), *bind = getenv("NODEOS_BIND");
	struct contention_rank r = { .number = number ? atoi(number) : 0 };
	struct timespec delay;
	struct meeting *m;
	int specs = 0, scans = 0;
	char *spec[CONTENTION_SPECS];

	for (char *s = argc == 3 ? strtok(argv[2], ",") : NULL; s && specs < CONTENTION_SPECS;
	     s = strtok(NULL, ",")) {
		scans += strncmp(s, "scan", 4) == 0;
		spec[specs++] = s;
	}
	if (r.number >= specs || sscanf(spec[r.number], "%15[^:]:%zu:%ld:%ld", r.kind, &r.bytes,
					&r.passes, &r.delay) != 4)
		return 2;
	r.bytes <<= 10;
	m = meet(argv[1], specs, scans);
	delay = (struct timespec){ r.delay / 10, r.delay % 10 * 100000000 };
	nanosleep(&delay, NULL);
	if (bind && *bind == '1')
		bind_here();
	r.at = map(r.bytes, MADV_NOHUGEPAGE);
	memset(r.at, 1, r.bytes);
	work(&r, m);
	return 0;
}
