/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * threads FREE PINNED MIB: a rank that is busy while its container is resized. FREE threads may run
 * on all CPUs of the rank. PINNED threads bind themselves, thread k to the k-th CPU. One more
 * thread starts short-lived threads all the time. The threads read MIB MiB of memory, in which each
 * page has its own number. On SIGTERM, prints "threads: N rounds, all good" and exits with 0, or
 * with 1 if a page had another number.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u

static volatile sig_atomic_t stop;
static atomic_int bad;
static atomic_ulong rounds;
static unsigned char *memory;
static size_t pages;
static cpu_set_t mine;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static void pause_ms(long ms)
{
	struct timespec t = { 0, ms * 1000000 };

	nanosleep(&t, NULL);
}

static void *work(void *arg)
{
	long k = (long)(intptr_t)arg;
	int cpu = -1;

	for (int i = 0; k >= 0 && i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &mine) && k-- == 0)
			cpu = i;
	if (cpu >= 0) {
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
	}
	while (!stop) {
		for (size_t p = 0; p < pages && !stop; p++)
			if (*(volatile uint64_t *)(memory + p * PAGE) != p * 3 + 1)
				bad = 1;
		rounds++;
		pause_ms(200);
	}
	return NULL;
}

static void *short_lived(void *arg)
{
	pause_ms(5);
	return arg;
}

static void *starter(void *arg)
{
	pthread_t t;

	for (; !stop; pause_ms(50))
		if (pthread_create(&t, NULL, short_lived, NULL) == 0)
			pthread_detach(t);
	return arg;
}

int main(int argc, char **argv)
{
	long n_free = argc > 3 ? atol(argv[1]) : 1, n_pinned = argc > 3 ? atol(argv[2]) : 0, k;
	pthread_t *t = calloc((size_t)(n_free + n_pinned + 1), sizeof(*t));

	pages = (argc > 3 ? strtoul(argv[3], NULL, 10) : 1) << 20 >> 12;
	memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (!t || memory == MAP_FAILED) {
		perror("threads");
		return 1;
	}
	signal(SIGTERM, on_term);
	sched_getaffinity(0, sizeof(mine), &mine);
	for (size_t p = 0; p < pages; p++)
		*(uint64_t *)(memory + p * PAGE) = p * 3 + 1;
	for (k = 0; k < n_free + n_pinned; k++)
		pthread_create(&t[k], NULL, work, (void *)(intptr_t)(k < n_free ? -1 : k - n_free));
	pthread_create(&t[k], NULL, starter, NULL);
	for (; k >= 0; k--)
		pthread_join(t[k], NULL);
	printf("threads: %lu rounds, %s\n", (unsigned long)rounds,
	       bad ? "a page has changed" : "all good");
	return bad;
}
