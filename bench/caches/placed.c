/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * placed RANKS SEED SIZES ARMS MIB MODULE: load MODULE, the module of the simulated cache. Then run
 * RANKS processes at once, for each of SIZES and each of ARMS (bench/lib/classes.h). SIZES and ARMS
 * are lists with "+" between their elements. SEED determines the order of the arms. Each rank
 * touches SIZE KiB of its own memory and then reads it repeatedly. The first MIB MiB that a rank
 * reads are counted; then it reads on until all ranks have been counted. No rank runs on CPU 0. In
 * arms that give each rank a CPU, this CPU is the second thread of a core, so that each socket gets
 * half of the ranks. Beside the ranks run DISTURBERS programs, which may use all CPUs. They sleep
 * and read memory of their own in turn, for times that SEED determines; the times are the same in
 * all arms. Prints "run ARM SIZE SEED" before each run, then a line for each rank:
 *
 * 	rank RANK cpu FIRST LAST COUNTS
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "bench/lib/classes.h"
#include "bench/lib/llc.h"

#define PLACED_MAX 32
#define SHARED 3 /* descriptor of the ranks' shared memory */
#define DISTURBERS 6
#define DISTURBER_BYTES (MIB / 4)

/* The memory that the ranks of a run share. */
struct run {
	_Alignas(64) atomic_int ready;
	_Alignas(64) atomic_int done;
	struct {
		int first, last;
		uint64_t count[LLC_EVENTS];
	} rank[PLACED_MAX];
};

static struct run *now;
static int ranks, last_cpu;
static size_t in_all;

static void share_run(void)
{
	now = mmap(NULL, sizeof(*now), PROT_READ | PROT_WRITE, MAP_SHARED, SHARED, 0);
	if (now == MAP_FAILED)
		die("mmap");
}

/* Read memory like compiled code that sums 64-bit words. */
static void read_words(const char *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 8)
		(void)*(const volatile uint64_t *)(const volatile void *)(at + i);
}

/*
 * Sleep for up to 20 ms, then read the same 256 KiB up to 15 times, again and again, like a daemon,
 * a cron job or a user's shell.
 */
static void placed_disturb(uint64_t seed)
{
	uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
	char *memory = map(DISTURBER_BYTES, MADV_NOHUGEPAGE);

	memset(memory, 1, DISTURBER_BYTES);
	for (;;) {
		struct timespec rest = { .tv_nsec = 1000 * (long)draw(&state, 20000) };

		nanosleep(&rest, NULL);
		for (uint64_t n = draw(&state, 16); n > 0; n--)
			read_words(memory, DISTURBER_BYTES);
	}
}

/* Run as a rank. The arguments are "placed rank RANK RANKS KIB MIB". */
static int be_rank(char **argv)
{
	uint64_t before[LLC_EVENTS], after[LLC_EVENTS];
	size_t bytes = strtoul(argv[4], NULL, 10) << 10;
	int rank = atoi(argv[2]);
	struct llc llc;
	char *memory;

	ranks = atoi(argv[3]);
	in_all = strtoul(argv[5], NULL, 10) * MIB;
	share_run();
	memory = map(bytes, MADV_NOHUGEPAGE);
	memset(memory, 1, bytes);
	read_words(memory, bytes);
	llc_open(&llc, 0, 0);
	atomic_fetch_add(&now->ready, 1);
	while (atomic_load(&now->ready) < ranks)
		__builtin_ia32_pause();
	now->rank[rank].first = sched_getcpu();
	llc_read(&llc, before);
	for (size_t n = 0; n < in_all; n += bytes)
		read_words(memory, bytes);
	llc_read(&llc, after);
	now->rank[rank].last = sched_getcpu();
	for (int i = 0; i < LLC_EVENTS; i++)
		now->rank[rank].count[i] = after[i] - before[i];
	atomic_fetch_add(&now->done, 1);
	while (atomic_load(&now->done) < ranks)
		read_words(memory, bytes);
	return 0;
}

/* Execute this program again as a rank. The kernel places a process of SCHED_HPC at execve(). */
static void become_placed(const struct arm *arm, int rank, size_t kib)
{
	char number[4][24];

	if (arm->own_cpu)
		on_cpus(2 * rank + 1, 2 * rank + 1);
	else
		on_cpus(1, last_cpu);
	take_class(arm);
	snprintf(number[0], sizeof(number[0]), "%d", rank);
	snprintf(number[1], sizeof(number[1]), "%d", ranks);
	snprintf(number[2], sizeof(number[2]), "%zu", kib);
	snprintf(number[3], sizeof(number[3]), "%zu", in_all / MIB);
	execl("/proc/self/exe", "placed", "rank", number[0], number[1], number[2], number[3], NULL);
	die("exec");
}

static void placed_run(const char *arm, size_t kib, int seed)
{
	struct timespec settle = { .tv_nsec = 300000000 };
	pid_t other[DISTURBERS], rank[PLACED_MAX];
	int status;

	printf("run %s %zu %d\n", arm, kib, seed);
	fflush(stdout);
	memset(now, 0, sizeof(*now));
	for (int i = 0; i < DISTURBERS; i++) {
		other[i] = fork();
		if (other[i] == 0) {
			on_cpus(0, last_cpu);
			placed_disturb((uint64_t)seed * DISTURBERS + (uint64_t)i);
		}
	}
	nanosleep(&settle, NULL);
	for (int i = 0; i < ranks; i++) {
		rank[i] = fork();
		if (rank[i] == 0)
			become_placed(arm_of(arm), i, kib);
	}
	for (int i = 0; i < ranks; i++)
		if (waitpid(rank[i], &status, 0) < 0 || status != 0)
			die("a rank failed");
	for (int i = 0; i < DISTURBERS; i++) {
		kill(other[i], SIGKILL);
		waitpid(other[i], NULL, 0);
	}
	for (int i = 0; i < ranks; i++) {
		printf("rank %d cpu %d %d ", i, now->rank[i].first, now->rank[i].last);
		llc_show(stdout, now->rank[i].count);
		printf("\n");
	}
	fflush(stdout);
}

static void load_module(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0) < 0)
		die(file);
	close(fd);
}

int main(int argc, char **argv)
{
	int seed, sizes, arms, memory;
	char *size[8], *arm[8];

	if (argc == 6 && strcmp(argv[1], "rank") == 0)
		return be_rank(argv);
	if (argc != 7 || sscanf(argv[2], "%d", &seed) != 1)
		return 2;
	ranks = atoi(argv[1]);
	last_cpu = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
	sizes = split(argv[3], size, 8);
	arms = split(argv[4], arm, 8);
	in_all = (size_t)atol(argv[5]) * MIB;
	if (ranks < 1 || ranks > PLACED_MAX || 2 * ranks - 1 > last_cpu)
		return 2;
	load_module(argv[6]);
	memory = memfd_create("placed", 0);
	if (memory < 0 || ftruncate(memory, sizeof(*now)) < 0 || dup2(memory, SHARED) < 0)
		die("memfd");
	share_run();
	on_cpus(0, 0);
	for (int s = 0; s < sizes; s++)
		for (int a = 0; a < arms; a++)
			placed_run(arm[(a + seed) % arms], strtoul(size[s], NULL, 10), seed);
	return 0;
}
