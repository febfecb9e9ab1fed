/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * ranks RANKS SEEDS LOADS ARMS PROGRAM ARG...: run RANKS processes PROGRAM RANK RANKS ARG... at
 * once, for each seed of SEEDS (FIRST-LAST), each of LOADS and each of ARMS (bench/lib/classes.h).
 * LOADS and ARMS are words with "+" between them; the seed determines their order. No rank runs on
 * CPU 0, so RANKS must be less than the number of CPUs. If RANKS is "threads:N", run one process
 * PROGRAM ARM N ARG... instead. It has N threads, binds them if the arm requires this, and writes
 * its result, a word, to RESULT. This program watches the threads (threads.h), and the whole
 * process is between the markers.
 *
 * The load "busy" runs programs of the default class on any CPU. They sleep and compute in turn,
 * for times that the seed determines; the times are the same in all arms. The load "idle" runs
 * none. kernel/test/init.c or image-init.c runs this program. It prints "run ARM LOAD SEED" before
 * each run, and exit codes other than 0 after the run.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "bench/hpc/threads.h"
#include "bench/lib/classes.h"
#include "bench/lib/guest.h"
#include "bench/lib/partition.h"

#define RANKS_MAX 64
# define BUSY 6 /* number of programs of the load "busy" */
#define WATCHED "gmx" /* name of the process whose threads are watched */
#define RESULT "/tmp/result"

static int n_ranks, n_threads;
static char **program;

/*
 * Sleep for up to 20 ms, then compute for up to 2 million rounds, again and again, like a daemon, a
 * cron job or a user's shell.
 */
static void ranks_disturb(uint64_t seed)
{
	uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;

	for (;;) {
		struct timespec rest = { .tv_nsec = 1000 * (long)draw(&state, 20000) };

		nanosleep(&rest, NULL);
		for (volatile uint64_t n = draw(&state, 2000000); n > 0; n--)
			;
	}
}

static void become_rank(const char *arm, int rank)
{
	char number[16], count[16], *args[16] = { program[0], number, count };
	const struct arm *a = arm_of(arm);
	int n = 3;

	if (a->partition)
		guest_put(PART "/cgroup.procs", "0");
	if (a->own_cpu && !n_threads)
		on_cpus(rank + 1, rank + 1);
	else
		on_cpus(1, n_threads ? n_threads : n_ranks);
	take_class(a);
	snprintf(number, sizeof(number), "%d", rank);
	snprintf(count, sizeof(count), "%d", n_threads ? n_threads : n_ranks);
	if (n_threads)
		args[1] = (char *)a->name;
	for (int i = 1; program[i] && n < 15; i++)
		args[n++] = program[i];
	execv(program[0], args);
	die(program[0]);
}

/* Run the ranks. They find their shared memory at descriptor 3, and print their own results. */
static void run_ranks(const char *arm)
{
	int memory = memfd_create("ranks", 0), status;
	pid_t rank[RANKS_MAX];

	if (memory < 0 || ftruncate(memory, 64 * (long)MIB) < 0 || dup2(memory, 3) < 0)
		die("memfd");
	for (int i = 0; i < n_ranks; i++) {
		rank[i] = fork();
		if (rank[i] == 0)
			become_rank(arm, i);
	}
	for (int i = 0; i < n_ranks; i++) {
		if (waitpid(rank[i], &status, 0) < 0 || status != 0)
			printf("rank %d ended with %#x\n", i, (unsigned)status);
	}
	if (memory != 3)
		close(memory);
}

static void run_threads(const char *arm)
{
	char result[64] = "";
	int status;
	pid_t pid;
	FILE *f;

	unlink(RESULT);
	watch_threads(WATCHED);
	MARK(1);
	pid = fork();
	if (pid == 0)
		become_rank(arm, 0);
	if (waitpid(pid, &status, 0) < 0 || status != 0)
		printf("rank 0 ended with %#x\n", (unsigned)status);
	MARK(2);
	f = fopen(RESULT, "r");
	if (!f || fscanf(f, "%63s", result) != 1)
		die(RESULT);
	fclose(f);
	tell_threads(result);
}

static void ranks_run(const char *arm, const char *load, int seed)
{
	struct timespec settle = { .tv_nsec = 300000000 };
	const char *kind = arm_of(arm)->partition;
	int busy = strcmp(load, "busy") == 0 ? BUSY : 0;
	pid_t other[BUSY];

	printf("run %s %s %d\n", arm, load, seed);
	fflush(stdout);
	for (int i = 0; i < busy; i++) {
		other[i] = fork();
		if (other[i] == 0) {
			on_cpus(0, (int)sysconf(_SC_NPROCESSORS_ONLN) - 1);
			ranks_disturb((uint64_t)seed * BUSY + (uint64_t)i);
		}
	}
	nanosleep(&settle, NULL);
	if (kind)
		make_partition(kind, n_threads ? n_threads : n_ranks);
	if (n_threads)
		run_threads(arm);
	else
		run_ranks(arm);
	if (kind)
		remove_partition();
	for (int i = 0; i < busy; i++) {
		kill(other[i], SIGKILL);
		waitpid(other[i], NULL, 0);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char *load[8], *arm[16];
	int first, last, loads, arms;

	if (argc < 6 || sscanf(argv[2], "%d-%d", &first, &last) != 2)
		return 2;
	if (sscanf(argv[1], "threads:%d", &n_threads) == 1)
		n_ranks = 1;
	else
		n_ranks = atoi(argv[1]);
	loads = split(argv[3], load, 8);
	arms = split(argv[4], arm, 16);
	program = argv + 5;
	if (n_ranks < 1 || n_ranks > RANKS_MAX || n_ranks >= sysconf(_SC_NPROCESSORS_ONLN) ||
	    n_threads >= sysconf(_SC_NPROCESSORS_ONLN))
		return 2;
	on_cpus(0, 0);
	for (int seed = first; seed <= last; seed++)
		for (int l = 0; l < loads; l++)
			for (int a = 0; a < arms; a++)
				ranks_run(arm[(a + seed) % arms], load[l], seed);
	return 0;
}
