/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hpc_crowd [spin]: count what a wakeup costs on a machine full of SCHED_HPC. A thousand threads of
 * the default class fall asleep on CPU 2 and the CPUs after it. Then HPC tasks start on these CPUs,
 * and a program on CPU 0 wakes each thread once. This is done without HPC tasks, with HPC tasks on
 * all CPUs from 2 on, and with one HPC task on CPU 2. All threads must wake on CPUs without HPC
 * tasks. With HPC tasks, the median of the waker's ticks must be at most twice the median without
 * them. If the guest's clock counts instructions, a tick is an instruction. The HPC tasks sleep:
 * the kernel reserves their CPUs for them meanwhile, too, and a guest whose CPUs share one host
 * thread is too slow for tasks that compute. With "spin" they compute. Prints TAP.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SCHED_HPC 48
#define WAKES 1000
#define FIRST 2 /* lowest CPU that may get an HPC task */
#define CPUS_MAX 1024
#define MOST 2 /* allowed ratio of the ticks with and without HPC tasks */

static struct sleeper {
	pthread_t thread;
	pid_t tid;
	int cpu; /* CPU on which it falls asleep */
	int woken; /* futex */
	int ran_on; /* CPU on which it woke; -1: it still sleeps */
} sleeper[WAKES];

static int ready; /* number of threads that fall asleep */
static int *there; /* number of running HPC tasks, in memory that the processes share */
static int spin; /* whether HPC tasks compute */
static int results;

static void nap(long ns)
{
	struct timespec t = { .tv_nsec = ns };

	nanosleep(&t, NULL);
}

static void die(const char *what)
{
	printf("# %s: %s\n", what, strerror(errno));
	exit(1);
}

static void allow(pid_t tid, int first, int last)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int cpu = first; cpu <= last; cpu++)
		CPU_SET(cpu, &set);
	if (sched_setaffinity(tid, sizeof(set), &set) < 0)
		die("sched_setaffinity");
}

static void *sleep_once(void *given)
{
	struct sleeper *s = given;

	s->tid = (pid_t)syscall(SYS_gettid);
	allow(0, s->cpu, s->cpu);
	__atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&s->woken, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &s->woken, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	__atomic_store_n(&s->ran_on, sched_getcpu(), __ATOMIC_SEQ_CST);
	return NULL;
}

static void put_to_sleep(int cpus)
{
	pthread_attr_t attr;

	ready = 0;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 16);
	for (int i = 0; i < WAKES; i++) {
		sleeper[i] = (struct sleeper){ .cpu = FIRST + i % cpus, .ran_on = -1 };
		errno = pthread_create(&sleeper[i].thread, &attr, sleep_once, &sleeper[i]);
		if (errno)
			die("pthread_create");
	}
	while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < WAKES)
		nap(1000000);
	nap(100000000);
}

static void take_policy(int policy, int priority)
{
	struct sched_param p = { .sched_priority = priority };

	if (sched_setscheduler(0, policy, &p) < 0)
		die("sched_setscheduler");
}

/* Start an HPC task that sleeps on CPU for ever, or computes there. Returns its pid. */
static pid_t stay_on(int cpu)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	allow(0, cpu, cpu);
	take_policy(SCHED_HPC, 0);
	__atomic_fetch_add(there, 1, __ATOMIC_SEQ_CST);
	for (;;)
		if (!spin)
			pause();
}

static int compare(const void *a, const void *b)
{
	const unsigned long *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/*
 * Wake all sleepers. Returns the median of the ticks, and sets ASTRAY to the number of sleepers
 * that woke on the HPC CPUs.
 */
static unsigned long wake_all(int hpc, int *astray)
{
	static unsigned long ticks[WAKES];

	/* a real-time task is not preempted by a sleeper that it wakes on its own CPU */
	take_policy(SCHED_FIFO, 1);
	for (int i = 0; i < WAKES; i++) {
		struct sleeper *s = &sleeper[i];
		unsigned long from;

		__atomic_store_n(&s->woken, 1, __ATOMIC_SEQ_CST);
		from = __builtin_ia32_rdtsc();
		syscall(SYS_futex, &s->woken, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		ticks[i] = __builtin_ia32_rdtsc() - from;
		/* wait until the sleeper has run, so that its CPU is idle again for the next one */
		while (!spin && __atomic_load_n(&s->ran_on, __ATOMIC_SEQ_CST) < 0)
			nap(100000);
	}
	take_policy(SCHED_OTHER, 0);
	*astray = 0;
	for (int i = 0; i < WAKES; i++) {
		pthread_join(sleeper[i].thread, NULL);
		*astray += sleeper[i].ran_on >= FIRST && sleeper[i].ran_on < FIRST + hpc;
	}
	qsort(ticks, WAKES, sizeof(ticks[0]), compare);
	return ticks[WAKES / 2];
}

/*
 * Put the sleepers to sleep on CPUS CPUs, start HPC tasks on the first HPC of these CPUs, and call
 * wake_all(). ALL is the number of CPUs that the sleepers may use.
 */
static unsigned long scene(int cpus, int hpc, int all, int *astray)
{
	pid_t pid[CPUS_MAX];
	unsigned long median;

	put_to_sleep(cpus);
	*there = 0;
	for (int i = 0; i < hpc; i++)
		pid[i] = stay_on(FIRST + i);
	while (__atomic_load_n(there, __ATOMIC_SEQ_CST) < hpc)
		nap(1000000);
	for (int i = 0; i < WAKES; i++)
		allow(sleeper[i].tid, 0, all - 1);
	median = wake_all(hpc, astray);
	for (int i = 0; i < hpc; i++)
		kill(pid[i], SIGKILL);
	for (int i = 0; i < hpc; i++)
		waitpid(pid[i], NULL, 0);
	return median;
}

static void result(int good, const char *what)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++results, what);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int all = (int)sysconf(_SC_NPROCESSORS_ONLN), crowd = all - FIRST, astray[3];
	unsigned long none, many, one;

	spin = argc > 1 && strcmp(argv[1], "spin") == 0;
	there = mmap(NULL, sizeof(*there), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (there == MAP_FAILED || crowd < 2 || all > CPUS_MAX)
		die("no shared memory, or fewer than 4 or more than 1024 CPUs");
	allow(0, 0, 0);
	none = scene(crowd, 0, all, &astray[0]);
	many = scene(crowd, crowd, all, &astray[1]);
	one = scene(1, 1, all, &astray[2]);
	printf("# a wakeup takes %lu ticks without HPC tasks, %lu with %d HPC tasks, %lu with "
	       "one\n",
	       none, many, crowd, one);
	printf("1..4\n");
	result(!astray[1], "all threads wake on the two CPUs without HPC tasks");
	result(!astray[2], "no thread wakes on the one CPU with an HPC task");
	result(many <= MOST * none, "a wakeup costs at most twice as much with many HPC tasks");
	result(one <= MOST * none, "a wakeup costs at most twice as much with one HPC task");
	return 0;
}
