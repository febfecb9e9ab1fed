/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * spin THREADS TURNS [SECONDS]: THREADS threads pass a token around, and spin while they wait for
 * it, as MPI ranks and OpenMP threads do. After TURNS turns, all spin for SECONDS more. Each thread
 * prints "spin RANK THREAD CPU MOVES POLICY PRIORITY INVOLUNTARY": its first CPU, how often it
 * moved, its policy and priority as numbers, and its involuntary context switches.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define THREADS_MAX 256

static atomic_ulong token;
static unsigned long threads, turns;
static double seconds;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *spin(void *arg)
{
	unsigned long self = (unsigned long)(size_t)arg, moves = 0;
	const char *rank = getenv("SLURM_PROCID");
	struct sched_param param = { 0 };
	int first = sched_getcpu(), last = first;
	struct rusage usage;
	double end;

	for (unsigned long turn = self; turn < turns; turn += threads) {
		while (atomic_load(&token) != turn)
			;
		atomic_store(&token, turn + 1);
		moves += sched_getcpu() != last;
		last = sched_getcpu();
	}
	for (end = now() + seconds; now() < end;) {
		moves += sched_getcpu() != last;
		last = sched_getcpu();
	}
	getrusage(RUSAGE_THREAD, &usage);
	sched_getparam(0, &param);
	printf("spin %s %lu %d %lu %d %d %ld\n", rank ? rank : "0", self, first, moves,
	       sched_getscheduler(0), param.sched_priority, usage.ru_nivcsw);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS_MAX];

	threads = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	if (threads < 1 || threads > THREADS_MAX) {
		fprintf(stderr, "usage: spin THREADS TURNS [SECONDS] (at most %d threads)\n",
			THREADS_MAX);
		return 2;
	}
	turns = strtoul(argv[2], NULL, 10);
	seconds = argc > 3 ? strtod(argv[3], NULL) : 0;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned long i = 1; i < threads; i++)
		if (pthread_create(&thread[i], NULL, spin, (void *)(size_t)i) != 0) {
			perror("pthread_create");
			return 1;
		}
	spin((void *)0);
	for (unsigned long i = 1; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
