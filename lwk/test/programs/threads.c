/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * threads [NUMBER [ROUNDS]]: tests mutexes, barriers, thread-local memory, many threads one after
 * the other, and stacks with guards.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static long count;
static int rounds = 5000;
static _Thread_local long mine;

static void *work(void *number)
{
	mine = (long)number;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&mutex);
		count++;
		pthread_mutex_unlock(&mutex);
		if (i % 64 == 0)
			sched_yield();
	}
	free(malloc(1000));
	pthread_barrier_wait(&barrier);
	return (void *)(mine * 10);
}

static void *short_work(void *number)
{
	return number;
}

static sigjmp_buf back;

static void on_fault(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

/* An overflow of the stack must meet the guard page. */
static int recurse(volatile char *before, unsigned depth)
{
	volatile char page[4096];

	page[0] = before[0];
	return depth ? recurse(page, depth - 1) + page[0] : 0;
}

static void *overflow(void *unused)
{
	static char alternate[32768];
	stack_t s = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	volatile char page[1] = { 0 };

	(void)unused;
	sigaltstack(&s, NULL);
	if (sigsetjmp(back, 1) == 0)
		return (void *)(long)(recurse(page, 1000000) + 1);
	return NULL;
}

static long run_threads(long number)
{
	pthread_t *t = calloc((size_t)number, sizeof(*t));
	pthread_attr_t attr;
	long sum = 0;
	void *result;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	pthread_barrier_init(&barrier, NULL, (unsigned)number);
	for (long i = 0; i < number; i++)
		if (pthread_create(&t[i], &attr, work, (void *)i) != 0) {
			printf("thread %ld cannot be made\n", i);
			exit(1);
		}
	for (long i = 0; i < number; i++) {
		pthread_join(t[i], &result);
		sum += (long)result;
	}
	free(t);
	return sum;
}

int main(int argc, char **argv)
{
	struct sigaction a = { .sa_handler = on_fault, .sa_flags = SA_ONSTACK };
	long number = argc > 1 ? atol(argv[1]) : 4, sum;
	pthread_t t;
	void *result;

	if (argc > 2)
		rounds = atoi(argv[2]);
	sum = run_threads(number);
	printf("%ld threads: %ld, sum %ld\n", number, count, sum);
	sum = 0;
	for (long i = 0; i < 50; i++) {
		if (pthread_create(&t, NULL, short_work, (void *)i) != 0)
			puts("no thread");
		pthread_join(t, &result);
		sum += (long)result;
	}
	printf("one after the other: %ld\n", sum);
	sigaction(SIGSEGV, &a, NULL);
	pthread_create(&t, NULL, overflow, NULL);
	pthread_join(t, &result);
	printf("stack overflow: %s\n", result ? "not seen" : "seen");
	return 0;
}
