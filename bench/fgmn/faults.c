/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * faults ROUNDS SCENE...: make page faults between markers, at which insn-count.c counts.
 * kernel/test/init.c mounts /proc, /sys and, on /cg, cgroup2, and runs this program. A scene is
 *
 * 	none		no cgroup, no policy
 * 	cpuset=NODES	in a cgroup with these memory nodes
 * 	bind=NODE	in a cgroup with that memory node, and bound to it by MPOL_BIND, like
 * 			a step of NodeOS
 * 	full=NODES	as cpuset, but all NODES except the last one are full
 *
 * Each scene runs in a process of its own on CPU 1: ROUNDS rounds of SMALL faults of 4 KiB, then
 * ROUNDS rounds of HUGE faults of 2 MiB. A round is marker 1, the faults, marker 2. Page tables for
 * the small faults exist already: MADV_DONTNEED has freed only the pages. The program prints a line
 * by which the counts are checked:
 *
 * 	faults SCENE KIND FAULTS ROUNDS node NID:PAGES...
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/lib/guest.h"

#define SMALL 1024
#define HUGE 32
#define WARM 3 /* rounds before the counted ones */
#define NODES_MAX 128

static int node_of(void *page)
{
	int status = -1;

	if (syscall(SYS_move_pages, 0, 1UL, &page, NULL, &status, 0) < 0)
		die("move_pages");
	return status;
}

static long huge_kib(void)
{
	static char text[1 << 16];
	int fd = open("/proc/self/smaps_rollup", O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	char *at;

	if (n <= 0)
		die("/proc/self/smaps_rollup");
	close(fd);
	text[n] = '\0';
	at = strstr(text, "AnonHugePages:");
	return at ? strtol(at + 14, NULL, 10) : -1;
}

static void count(const char *scene, const char *kind, size_t step, size_t faults, unsigned rounds,
		  int advice)
{
	char *p = map(step * faults, advice);
	unsigned on[NODES_MAX] = { 0 };

	for (unsigned i = 0; i < WARM + rounds; i++) {
		if (i >= WARM)
			MARK(1);
		for (size_t at = 0; at < step * faults; at += step)
			p[at] = 1;
		if (i >= WARM)
			MARK(2);
		if (i + 1 == WARM + rounds)
			break;
		if (madvise(p, step * faults, MADV_DONTNEED) < 0)
			die("MADV_DONTNEED");
	}
	for (size_t i = 0; i < faults; i++) {
		int nid = node_of(p + i * step);

		if (nid < 0 || nid >= NODES_MAX)
			die("a page of the test is on no memory node");
		on[nid]++;
	}
	if (huge_kib() != (step == 2 * MIB ? (long)(faults * 2048) : 0))
		die("huge pages");
	printf("faults %s %s %zu %u node", scene, kind, faults, rounds);
	for (unsigned nid = 0; nid < NODES_MAX; nid++)
		if (on[nid])
			printf(" %u:%u", nid, on[nid]);
	printf("\n");
	munmap(p, step * faults);
}

static void faults_confine(const char *nodes)
{
	mkdir("/cg/faults", 0755);
	guest_put("/cg/faults/cpuset.mems", nodes);
	guest_put("/cg/faults/cgroup.procs", "0");
}

static void bind_to(unsigned node)
{
	unsigned long mask[NODES_MAX / 64] = { 0 };

	mask[node / 64] = 1UL << node % 64;
	if (syscall(SYS_set_mempolicy, 2 /* MPOL_BIND */, mask, (unsigned long)NODES_MAX) < 0)
		die("set_mempolicy");
}

/* Allocate memory until the kernel has given pages of each of NODES, "FIRST-LAST". */
static void faults_fill(const char *nodes)
{
	unsigned first, last, seen = 0;
	char has[NODES_MAX] = { 0 };

	if (sscanf(nodes, "%u-%u", &first, &last) != 2 || first > last || last >= NODES_MAX)
		die(nodes);
	while (seen < last - first + 1) {
		char *p = map(MIB, MADV_NOHUGEPAGE);
		int nid;

		for (size_t at = 0; at < MIB; at += 4096)
			p[at] = 1;
		nid = node_of(p + MIB - 4096);
		if (nid < 0 || nid >= NODES_MAX)
			die("a page of the test is on no memory node");
		seen += !has[nid];
		has[nid] = 1;
	}
}

static void faults_play(const char *scene, unsigned rounds)
{
	const char *nodes = strchr(scene, '=');
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(1, &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu) < 0)
		die("sched_setaffinity");
	if (nodes)
		faults_confine(++nodes);
	if (strncmp(scene, "bind=", 5) == 0)
		bind_to((unsigned)atoi(nodes));
	if (strncmp(scene, "full=", 5) == 0)
		faults_fill(nodes);
	count(scene, "4K", 4096, SMALL, rounds, MADV_NOHUGEPAGE);
	if (strncmp(scene, "full=", 5) != 0)
		count(scene, "2M", 2 * MIB, HUGE, rounds, MADV_HUGEPAGE);
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 2 ? (unsigned)atoi(argv[1]) : 0;

	if (!rounds)
		return 2;
	for (int i = 2; i < argc; i++) {
		int status = -1;
		pid_t pid = fork();

		if (pid == 0)
			faults_play(argv[i], rounds);
		if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0) {
			printf("faults: %s: status %d\n", argv[i], status);
			return 1;
		}
	}
	return 0;
}
