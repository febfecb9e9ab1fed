/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * rank RANK RANKS MIB ROUNDS [locked]: be one of RANKS processes. In each of ROUNDS rounds, each
 * process sweeps over MIB MiB, and spins until all processes have ended the round, as MPI does.
 * Every tenth round, it also allocates, fills and frees some memory. "locked": call mlockall();
 * GLIBC_TUNABLES then asks for huge pages. The shared memory is descriptor 3, which arms.c has
 * made. For the first SPIN_WARM seconds the ranks only wait, so that other programs leave their
 * CPUs. The rounds are between markers 1 and 2 of rank 0, which prints
 *
 * 	node interrupts N exits N seconds S
 *
 * the interrupts of CPUs 1 to RANKS (/proc/interrupts), the exits of all machines of KVM, and the
 * duration. Then each rank prints
 *
 * 	rank RANK faults N involuntary N sum S
 *
 * with its page faults and switches (getrusage) in these rounds.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/resource.h>

#include "bench/lib/guest.h"
#include "bench/lib/spin.h"

#define FRESH (33 * MIB) /* too large for malloc() to keep when it is freed */
#define TOUCHED (2 * MIB)

struct state {
	unsigned long long interrupts, exits;
	double seconds;
};

static struct spin *spin;
static unsigned rank, ranks;

/* Return the sum of the columns of CPUs 1 to RANKS in /proc/interrupts. */
static unsigned long long sum_interrupts(void)
{
	char line[4096], *at, *end;
	unsigned long long sum = 0;
	FILE *f = fopen("/proc/interrupts", "r");

	if (!f || !fgets(line, sizeof(line), f))
		die("/proc/interrupts");
	while (fgets(line, sizeof(line), f)) {
		at = strchr(line, ':');
		at = at ? at + 1 : NULL;
		for (unsigned cpu = 0; at && cpu <= ranks; cpu++) {
			unsigned long long n = strtoull(at, &end, 10);

			if (end == at)
				break;
			sum += cpu ? n : 0;
			at = end;
		}
	}
	fclose(f);
	return sum;
}

static unsigned long long read_exits(void)
{
	unsigned long long n = 0;
	FILE *f = fopen("/sys/kernel/debug/kvm/exits", "r");

	if (!f || fscanf(f, "%llu", &n) != 1)
		die("/sys/kernel/debug/kvm/exits");
	fclose(f);
	return n;
}

static struct state state(void)
{
	return (struct state){ sum_interrupts(), read_exits(), spin_now() };
}

static double sweep(double *memory, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		memory[i] = memory[i] / 2 + (double)(i % 7);
		sum += memory[i];
	}
	return sum;
}

static void use_fresh_memory(void)
{
	char *fresh = malloc(FRESH);

	if (!fresh)
		die("malloc");
	for (size_t i = 0; i < TOUCHED; i += 64)
		*(volatile char *)(fresh + i) = 1;
	free(fresh);
}

static double rounds(double *memory, size_t n, long number)
{
	double sum = 0;

	for (long k = 0; k < number; k++) {
		sum += sweep(memory, n);
		if (k % 10 == 0)
			use_fresh_memory();
		spin_barrier(spin, ranks);
	}
	return sum;
}

static void prepare(int argc, char **argv)
{
	if (argc < 5)
		exit(2);
	rank = (unsigned)atoi(argv[1]), ranks = (unsigned)atoi(argv[2]);
	if (!ranks || rank >= ranks)
		exit(2);
	if (argc > 5 && mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		die("mlockall");
	spin = mmap(NULL, sizeof(*spin), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, 3, 0);
	if (spin == MAP_FAILED)
		die("mmap");
}

int main(int argc, char **argv)
{
	struct rusage before, after;
	struct state first = { 0 }, last;
	double *memory, sum;
	size_t n;

	prepare(argc, argv);
	n = (size_t)atol(argv[3]) * MIB / sizeof(*memory);
	memory = calloc(n, sizeof(*memory));
	if (!memory)
		die("calloc");
	sum = rounds(memory, n, 1);
	if (rank == 0)
		first = state(); /* the first call opens the files */
	spin_warm_up(spin, rank, ranks);
	getrusage(RUSAGE_SELF, &before);
	if (rank == 0) {
		first = state();
		MARK(1);
	}
	spin_barrier(spin, ranks);
	sum += rounds(memory, n, atol(argv[4]));
	getrusage(RUSAGE_SELF, &after);
	if (rank == 0) {
		MARK(2);
		last = state();
		printf("node interrupts %llu exits %llu seconds %.3f\n",
		       last.interrupts - first.interrupts, last.exits - first.exits,
		       last.seconds - first.seconds);
	}
	/* no rank ends before the exits are read: those of an ended machine are lost */
	spin_barrier(spin, ranks);
	printf("rank %u faults %ld involuntary %ld sum %a\n", rank,
	       after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt,
	       after.ru_nivcsw - before.ru_nivcsw, sum);
	fflush(stdout);
	return 0;
}
