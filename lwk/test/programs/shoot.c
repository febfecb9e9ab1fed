/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that compute in the machine must notice when another thread takes a right from a page. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS 3
#define ROUNDS 100

static char *page;
static atomic_int phase, seen, wrong;
static _Thread_local sigjmp_buf back;

static void on_fault(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

/* Write until the page is closed; then wait until it is open again. */
static void *write_always(void *unused)
{
	(void)unused;
	for (volatile int round = 1; round <= ROUNDS; round++) {
		if (sigsetjmp(back, 1) == 0) {
			for (;;) {
				int before = atomic_load(&phase);

				*(volatile char *)page = 1;
				/* the page was closed before the write began */
				if (before == 2 * round - 1)
					atomic_fetch_add(&wrong, 1);
			}
		}
		atomic_fetch_add(&seen, 1);
		while (atomic_load(&phase) < 2 * round)
			;
	}
	return NULL;
}

int main(void)
{
	struct sigaction a = { .sa_handler = on_fault };
	pthread_t t[THREADS];

	sigaction(SIGSEGV, &a, NULL);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, write_always, NULL);
	for (int round = 1; round <= ROUNDS; round++) {
		mprotect(page, 4096, PROT_READ);
		atomic_store(&phase, 2 * round - 1);
		while (atomic_load(&seen) < THREADS * round)
			usleep(100);
		mprotect(page, 4096, PROT_READ | PROT_WRITE);
		atomic_store(&phase, 2 * round);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("rounds: %d, faults: %d, writes to a closed page: %d\n", ROUNDS, seen, wrong);
	return 0;
}
