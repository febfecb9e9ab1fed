/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * neighbour ROUNDS WORKER HOG: a worker does fixed work on CPU 1, in a cgroup with the memory nodes
 * WORKER, between markers, at which insn-count.c counts. First it is alone. Then a hog runs on CPU
 * 2, in a cgroup with the memory nodes HOG, where the kernel kills it for lack of memory again and
 * again. kernel/test/init.c mounts /proc, /sys and, on /cg, cgroup2, and runs this program. The hog
 * is killed in two ways:
 *
 * 	limit	memory.max is a little less than what the nodes hold, as NodeOS sets it
 * 	nodes	without memory.max, the nodes run out of memory
 *
 * A round faults in 1024 pages of 4 KiB and computes on them. The program prints:
 *
 * 	neighbour ARM ROUNDS kills N
 * 	neighbour ARM moved NAME BEFORE AFTER	for each counter of the worker's cgroup that the arm
 * 	has changed
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "bench/lib/guest.h"

#define PAGES 1024
#define WARM 3 /* rounds before the counted ones */
#define PASSES 20 /* number of passes over the pages in a round */
#define NAMES_MAX 64

struct counter {
	char name[48];
	long long value;
};

static const char *worker_nodes, *hog_nodes;
static long hog_max; /* bytes */

static void on_cpu(int n)
{
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(n, &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu) < 0)
		die("sched_setaffinity");
}

/* ------------------------------------------------------------------ the worker's counters */

/*
 * Read from PATH the lines "NAME NUMBER" that begin with a word of BEGIN, and all lines
 * "total=NUMBER".
 */
static unsigned neighbour_read_file(struct counter *c, unsigned n, const char *path,
				    const char *const *begin, const char *suffix)
{
	char line[256], name[40];
	FILE *f = fopen(path, "r");
	long long value;

	if (!f)
		die(path);
	while (n < NAMES_MAX && fgets(line, sizeof(line), f)) {
		const char *total = strstr(line, "total=");

		if (sscanf(line, "%39s %lld", name, &value) != 2 && !total)
			continue;
		if (total)
			value = strtoll(total + 6, NULL, 10);
		for (unsigned i = 0; begin[i]; i++)
			if (strncmp(name, begin[i], strlen(begin[i])) == 0) {
				snprintf(c[n].name, sizeof(c[n].name), "%s%s", name, suffix);
				c[n++].value = value;
				break;
			}
	}
	fclose(f);
	return n;
}

static unsigned read_counters(struct counter *c)
{
	static const char *const reclaim[] = { "pgscan", "pgsteal", "workingset", NULL };
	static const char *const pressure[] = { "some", "full", NULL };
	static const char *const stall[] = { "allocstall", NULL };
	static const char *const miss[] = { "numa_miss", "numa_foreign", NULL };
	unsigned n = 0, first, last;
	char path[128];

	n = neighbour_read_file(c, n, "/cg/worker/memory.stat", reclaim, "");
	n = neighbour_read_file(c, n, "/cg/worker/memory.pressure", pressure, "");
	n = neighbour_read_file(c, n, "/proc/vmstat", stall, "");
	if (sscanf(worker_nodes, "%u-%u", &first, &last) < 2)
		last = first;
	for (unsigned nid = first; nid <= last; nid++) {
		char suffix[8];

		snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/numastat", nid);
		snprintf(suffix, sizeof(suffix), "@%u", nid);
		n = neighbour_read_file(c, n, path, miss, suffix);
	}
	return n;
}

/* ------------------------------------------------------------------ worker and hog */

static void neighbour_work(unsigned rounds, int go, int done)
{
	char *p = map(PAGES * 4096, MADV_NOHUGEPAGE), c;

	on_cpu(1);
	guest_put("/cg/worker/cgroup.procs", "0");
	while (read(go, &c, 1) == 1) {
		for (unsigned i = 0; i < WARM + rounds; i++) {
			if (i >= WARM)
				MARK(1);
			for (size_t at = 0; at < PAGES * 4096; at += 4096)
				p[at] = 1;
			for (unsigned pass = 0; pass < PASSES; pass++)
				for (size_t at = 64; at < PAGES * 4096; at += 64)
					p[at] = (char)(p[at - 64] + 1);
			if (i >= WARM)
				MARK(2);
			if (madvise(p, PAGES * 4096, MADV_DONTNEED) < 0)
				die("MADV_DONTNEED");
		}
		if (write(done, &c, 1) != 1)
			break;
	}
	_exit(0);
}

static pid_t start_hog(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	on_cpu(2);
	guest_put("/cg/hog/cgroup.procs", "0");
	for (;;) {
		char *p = map(MIB, MADV_NOHUGEPAGE);

		for (size_t at = 0; at < MIB; at += 4096)
			p[at] = 1;
	}
}

/*
 * Let the worker do its rounds. If WITH_HOG, a hog runs beside it, and is started again each time
 * the kernel has killed it. Returns how often the hog was killed.
 */
static unsigned arm(int go, int done, int with_hog)
{
	unsigned kills = 0;
	pid_t hog = 0;
	int ended = 0;
	char c = 'g';

	if (fcntl(done, F_SETFL, O_NONBLOCK) < 0)
		die("fcntl");
	/* let the first hog fill its nodes before the worker starts */
	if (with_hog && (hog = start_hog()) > 0 && waitpid(hog, NULL, 0) == hog)
		hog = 0;
	if (write(go, &c, 1) != 1)
		die("write");
	while (!ended) {
		int status;

		if (with_hog && !hog)
			hog = start_hog();
		if (hog && waitpid(hog, &status, WNOHANG) == hog) {
			hog = 0;
			if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
				die("the hog was not killed for lack of memory");
			kills++;
		}
		ended = read(done, &c, 1) == 1;
		usleep(2000);
	}
	if (hog) {
		kill(hog, SIGKILL);
		waitpid(hog, NULL, 0);
	}
	return kills;
}

static void neighbour_measure(const char *name, unsigned rounds, int go, int done, int with_hog)
{
	static struct counter before[NAMES_MAX], after[NAMES_MAX];
	unsigned n = read_counters(before), kills = arm(go, done, with_hog);

	read_counters(after);
	printf("neighbour %s %u kills %u\n", name, rounds, kills);
	for (unsigned i = 0; i < n; i++)
		if (before[i].value != after[i].value)
			printf("neighbour %s moved %s %lld %lld\n", name, before[i].name,
			       before[i].value, after[i].value);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned rounds = argc == 5 ? (unsigned)atoi(argv[1]) : 0;
	int go[2], done[2];
	char limit[32];
	pid_t worker;

	if (!rounds)
		return 2;
	worker_nodes = argv[2];
	hog_nodes = argv[3];
	hog_max = atol(argv[4]) * (long)MIB;
	snprintf(limit, sizeof(limit), "%ld", hog_max);
	guest_put("/cg/cgroup.subtree_control", "+cpuset +memory");
	mkdir("/cg/worker", 0755);
	mkdir("/cg/hog", 0755);
	guest_put("/cg/worker/cpuset.mems", worker_nodes);
	guest_put("/cg/hog/cpuset.mems", hog_nodes);
	on_cpu(0);
	if (pipe(go) < 0 || pipe(done) < 0)
		die("pipe");
	worker = fork();
	if (worker == 0) {
		close(go[1]);
		neighbour_work(rounds, go[0], done[1]);
	}
	neighbour_measure("alone", rounds, go[1], done[0], 0);
	guest_put("/cg/hog/memory.max", limit);
	neighbour_measure("limit", rounds, go[1], done[0], 1);
	guest_put("/cg/hog/memory.max", "max");
	neighbour_measure("nodes", rounds, go[1], done[0], 1);
	close(go[1]);
	return waitpid(worker, NULL, 0) != worker;
}
