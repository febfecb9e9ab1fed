/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes that spin while they wait for each other, as with MPI and OpenMP. */
#ifndef NODEOS_BENCH_SPIN_H
#define NODEOS_BENCH_SPIN_H

#include <stdatomic.h>
#include <time.h>

#define SPIN_WARM 1.2 /* seconds; longer than the period of the fair server */

/* In memory of all RANKS processes, and all zero at first. */
struct spin {
	_Alignas(64) atomic_uint arrived;
	_Alignas(64) atomic_uint phase;
	_Alignas(64) atomic_int warm;
};

static inline double spin_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Wait until all RANKS processes are here. */
static inline void spin_barrier(struct spin *s, unsigned ranks)
{
	unsigned phase = atomic_load(&s->phase);

	if (atomic_fetch_add(&s->arrived, 1) + 1 == ranks) {
		atomic_store(&s->arrived, 0);
		atomic_store(&s->phase, phase + 1);
	} else {
		while (atomic_load(&s->phase) == phase)
			__builtin_ia32_pause();
	}
}

/* Only wait, for SPIN_WARM seconds, so that other programs leave the ranks' CPUs. */
static inline void spin_warm_up(struct spin *s, unsigned rank, unsigned ranks)
{
	double start = spin_now();
	int warm;

	do {
		if (rank == 0)
			atomic_store(&s->warm, spin_now() - start > SPIN_WARM);
		spin_barrier(s, ranks);
		warm = atomic_load(&s->warm);
		spin_barrier(s, ranks);
	} while (!warm);
}

#endif
