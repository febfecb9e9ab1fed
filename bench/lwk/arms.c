/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * arms RANKS SEEDS LOADS ARMS MIB ROUNDS: run RANKS processes of rank.c on CPUs 1 to RANKS, for
 * each seed of SEEDS (FIRST-LAST), each of LOADS and each of ARMS. LOADS and ARMS are words with
 * "+" between them; the seed determines their order. An arm is
 *
 * 	native on Linux, beside other programs
 * 	partition	in a root partition of the ranks' CPUs, as in all further arms
 * 	locked		with huge pages for malloc(), and with mlockall()
 * 	lwk2m lwk1g	in a machine of nodeos-lwk, with huge pages of 2 MiB and of 1 GiB
 *
 * The load "noisy" runs stress-ng on all CPUs that programs may use, and a program that makes Linux
 * compact memory and drop caches. The load "idle" runs none. kernel/test/init.c runs this program.
 * It prints "run ARM LOAD SEED" before each run, and exit codes other than 0 after the run.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "bench/lib/classes.h"
#include "bench/lib/guest.h"
#include "bench/lib/partition.h"

#define RANKS_MAX 64
#define MODULES "/modules"
#define NOISE CGROUPS "/noise"

static const struct kind {
	const char *name;
	const char *page; /* size of huge pages for nodeos-lwk; NULL: not in a machine */
	const char *memory;
	bool partition, locked;
} kinds[] = {
	{ "native", NULL, NULL, false, false },
	{ "partition", NULL, NULL, true, false },
	{ "locked", NULL, NULL, true, true },
	{ "lwk2m", "--page=2M", "--memory=128M", true, false },
	{ "lwk1g", "--page=1G", "--memory=1G", true, false },
};

static char *const stress[] = { "/usr/bin/stress-ng",
				"--quiet",
				"--timeout",
				"0",
				"--temp-path",
				"/tmp",
				"--vm",
				"1",
				"--vm-bytes",
				"48M",
				"--fork",
				"1",
				"--mremap",
				"1",
				"--mremap-bytes",
				"8M",
				"--io",
				"1",
				NULL };

static int n_ranks;
static char *mib, *n_rounds;

static const struct kind *arms_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	errno = EINVAL;
	die(name);
	return NULL;
}

/* Load the kernel's modules for KVM. Their file names begin with a number that gives the order. */
static void load_modules(void)
{
	struct dirent **names;
	int n = scandir(MODULES, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		char path[300];
		int fd;

		snprintf(path, sizeof(path), MODULES "/%s", names[i]->d_name);
		if (*names[i]->d_name == '.')
			continue;
		fd = open(path, O_RDONLY);
		if (fd < 0 || syscall(SYS_finit_module, fd, "", 0) < 0)
			die(path);
		close(fd);
	}
}

static void arms_exec(const struct kind *k, int rank)
{
	char number[16], count[16];
	char *args[16];
	int n = 0;

	if (k->partition)
		guest_put(PART "/cgroup.procs", "0");
	on_cpus(rank + 1, rank + 1);
	snprintf(number, sizeof(number), "%d", rank);
	snprintf(count, sizeof(count), "%d", n_ranks);
	if (k->page) {
		args[n++] = "/nodeos-lwk";
		args[n++] = (char *)k->page;
		args[n++] = (char *)k->memory;
		args[n++] = "--";
	}
	args[n++] = "/rank";
	args[n++] = number;
	args[n++] = count;
	args[n++] = mib;
	args[n++] = n_rounds;
	if (k->locked) {
		args[n++] = "locked";
		setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=2", 1);
	}
	args[n] = NULL;
	execv(args[0], args);
	die(args[0]);
}

/* Run the ranks. They find their shared memory at descriptor 3, and print their own results. */
static void arms_run_ranks(const struct kind *k)
{
	int memory = memfd_create("ranks", 0), status;
	pid_t rank[RANKS_MAX];

	if (memory < 0 || ftruncate(memory, (long)MIB) < 0 || dup2(memory, 3) < 0)
		die("memfd");
	for (int i = 0; i < n_ranks; i++) {
		rank[i] = fork();
		if (rank[i] == 0)
			arms_exec(k, i);
	}
	for (int i = 0; i < n_ranks; i++)
		if (waitpid(rank[i], &status, 0) < 0 || status != 0)
			printf("rank %d ended with %#x\n", i, (unsigned)status);
	if (memory != 3)
		close(memory);
}

/* Make Linux compact memory and drop its page cache, again and again. */
static void compact(void)
{
	const struct timespec rest = { .tv_nsec = 100000000 };

	for (;;) {
		guest_put("/proc/sys/vm/compact_memory", "1");
		guest_put("/proc/sys/vm/drop_caches", "3");
		nanosleep(&rest, NULL);
	}
}

static void start_noise(pid_t noise[2])
{
	if (mkdir(NOISE, 0755) < 0)
		die(NOISE);
	for (int i = 0; i < 2; i++) {
		noise[i] = fork();
		if (noise[i] != 0)
			continue;
		guest_put(NOISE "/cgroup.procs", "0");
		on_cpus(0, (int)sysconf(_SC_NPROCESSORS_ONLN) - 1);
		if (i == 0)
			compact();
		execv(stress[0], stress);
		die(stress[0]);
	}
}

static void end_noise(const pid_t noise[2])
{
	struct timespec pause = { .tv_nsec = 50000000 };
	int tries = 0, status;

	for (int i = 0; i < 2; i++) {
		if (waitpid(noise[i], &status, WNOHANG) != 0)
			printf("rank: noise %d ended with %#x\n", i, (unsigned)status);
	}
	guest_put(NOISE "/cgroup.kill", "1");
	while (rmdir(NOISE) < 0) {
		if (errno != EBUSY || ++tries > 200)
			die(NOISE);
		nanosleep(&pause, NULL);
		while (waitpid(-1, &status, WNOHANG) > 0)
			;
	}
}

static void arms_run(const char *arm, const char *load, int seed)
{
	struct timespec settle = { .tv_nsec = 500000000 };
	const struct kind *k = arms_kind(arm);
	bool noisy = strcmp(load, "noisy") == 0;
	pid_t noise[2] = { 0 };

	printf("run %s %s %d\n", arm, load, seed);
	fflush(stdout);
	if (noisy)
		start_noise(noise);
	nanosleep(&settle, NULL);
	if (k->partition)
		make_partition("root", n_ranks);
	arms_run_ranks(k);
	if (k->partition)
		remove_partition();
	if (noisy)
		end_noise(noise);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char *load[8], *arm[16];
	int first, last, loads, arms;

	if (argc != 7 || sscanf(argv[2], "%d-%d", &first, &last) != 2)
		return 2;
	n_ranks = atoi(argv[1]);
	loads = split(argv[3], load, 8);
	arms = split(argv[4], arm, 16);
	mib = argv[5], n_rounds = argv[6];
	if (n_ranks < 1 || n_ranks > RANKS_MAX || n_ranks >= sysconf(_SC_NPROCESSORS_ONLN))
		return 2;
	load_modules();
	on_cpus(0, 0);
	for (int seed = first; seed <= last; seed++)
		for (int l = 0; l < loads; l++)
			for (int a = 0; a < arms; a++)
				arms_run(arm[(a + seed) % arms], load[l], seed);
	return 0;
}
