/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An OpenMP program that gives up CPUs of its container between phases and takes them back:
 *
 *   cc -fopenmp phases.c $(pkg-config --cflags --libs nodeos) -o phases
 *   srun --nodeos-container=sim ./phases 6 4
 *
 * The first argument is the number of phases, the second the greatest number of hardware threads
 * that every second phase needs. The result does not depend on the number of threads: the sum at
 * the end is the same with --alone, which never resizes.
 */
#include <nodeos.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS 200000

/*
 * Compute a phase: every cell from its neighbours, in whole numbers, so that the order of additions
 * does not matter.
 */
static void phase(uint64_t *to, const uint64_t *from, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
	for (long i = 0; i < CELLS; i++)
		to[i] = (from[(i + CELLS - 1) % CELLS] * 3 + from[i] * 5 +
			 from[(i + 1) % CELLS] * 7 + 1) ^
			from[i] >> 7;
}

int main(int argc, char **argv)
{
	int phases = argc > 1 ? atoi(argv[1]) : 6,
	    alone = argc > 3 && strcmp(argv[3], "--alone") == 0;
	const char *few = argc > 2 ? argv[2] : "2";
	uint64_t *now = calloc(CELLS, sizeof(*now)), *next = calloc(CELLS, sizeof(*next)), sum = 0;
	nodeos_t *mine = nodeos_open();
	char all[16];

	if (!now || !next || !mine)
		return 1;
	if (!nodeos_cpus(mine) && !alone) {
		fprintf(stderr, "phases: %s\n", nodeos_error(mine));
		return 1;
	}
	snprintf(all, sizeof(all), "%u", nodeos_cpus(mine));
	for (long i = 0; i < CELLS; i++)
		now[i] = (uint64_t)i;
	for (int p = 0; p < phases; p++) {
		uint64_t *last = now;

		/* another container may have these CPUs now: continue without them */
		if (!alone && nodeos_resize(mine, p % 2 ? few : all, NULL) < 0)
			fprintf(stderr, "phases: phase %d goes on with CPUs %s: %s\n", p,
				nodeos_cpulist(mine), nodeos_error(mine));
		for (int step = 0; step < 20; step++) {
			phase(next, now,
			      alone ? omp_get_max_threads() : (int)nodeos_rank_cpus(mine));
			last = now;
			now = next;
			next = last;
		}
		printf("phase %d: CPUs %s\n", p, alone ? "all" : nodeos_rank_cpulist(mine));
		fflush(stdout);
	}
	for (long i = 0; i < CELLS; i++)
		sum = sum * 31 + now[i];
	printf("sum %016llx\n", (unsigned long long)sum);
	nodeos_close(mine);
	free(now);
	free(next);
	return 0;
}
