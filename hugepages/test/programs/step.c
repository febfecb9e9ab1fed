/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In the guest of boot.py: begin and end a step of two ranks as slurmstepd does, without Slurm, and
 * print what the kernel shows. With argument kvm, root opens /dev/kvm for the ranks; with argument
 * facts, only print whether a machine runs.
 */
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/cgroup.h"
#include "hugepages/lwk_facts.h"
#include "hugepages/reserve.h"

#define NODES "/sys/devices/system/node/node*/hugepages/hugepages-2048kB/"
#define USER 1000

/* Become a user, and execute what a rank executes in place of its program /rank.static. */
static void run_rank(const struct reserve_given *g, unsigned rank, int opens_kvm)
{
	char options[128], number[16];
	char *argv[] = { (char *)"rank", (char *)"5", number, NULL };
	struct errbuf err = { 0 };
	int extent = reserve_take(g, rank, &err), kvm = -1;

	if (opens_kvm)
		kvm = open("/dev/kvm", O_RDWR);
	if (extent < 0 || setgroups(0, NULL) < 0 || setresgid(USER, USER, USER) < 0 ||
	    setresuid(USER, USER, USER) < 0) {
		printf("%s\n", err.text);
		_exit(9);
	}
	snprintf(number, sizeof(number), "%u", rank);
	snprintf(options, sizeof(options), "--given=%d,%d --memory=32M --page=2M", extent, kvm);
	setenv("NODEOS_LWK", options, 1);
	setenv("NODEOS_LWK_PROGRAM", "/rank.static", 1);
	execv(NODEOS_LIBEXECDIR "/nodeos-lwk-start", argv);
	_exit(8);
}

int main(int argc, char **argv)
{
	struct reserve_ask a = { .state_dir = "/run/state",
				 .cgroup = "step",
				 .job_inode = 5,
				 .ranks = 2,
				 .bytes = 32 << 20,
				 .page = RESERVE_2M,
				 .owner = getpid() };
	struct reserve_given g;
	struct errbuf err = { 0 };
	struct idset mems;
	pid_t pid[2];

	if (argc > 1 && strcmp(argv[1], "facts") == 0) {
		char text[1024];

		printf("facts: %s\n", lwk_facts(text, sizeof(text), ""));
		return 0;
	}
	idset_parse(&mems, "0-1", NULL);
	a.mems = &mems;
	system("mkdir -p /run/cgroup/step; echo populated 1 >/run/cgroup/step/cgroup.events");
	a.cgroup_fd = open("/run/cgroup", O_RDONLY | O_DIRECTORY);
	a.step_inode = cgroup_inode(a.cgroup_fd, "step");
	if (reserve_pages(&g, &a, &err) < 0) {
		printf("refused: %s\n", err.text);
		return 1;
	}
	system("echo during: $(cat " NODES "nr_hugepages) free $(cat " NODES "free_hugepages)");
	fflush(stdout);
	for (unsigned i = 0; i < 2; i++)
		if ((pid[i] = fork()) == 0)
			run_rank(&g, i, argc > 1 && strcmp(argv[1], "kvm") == 0);
	sleep(2);
	/* not the machine of keep.c */
	system("echo machines: $(ls /sys/kernel/debug/kvm | grep '^[0-9]' | grep -vc \"^$KEPT-\")");
	for (unsigned i = 0; i < 2; i++) {
		int status;

		waitpid(pid[i], &status, 0);
		printf("status %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	}
	fflush(stdout);
	reserve_release(a.state_dir, a.cgroup_fd, a.step_inode);
	system("echo after: $(cat " NODES
	       "nr_hugepages) records $(ls /run/state-hugepages | wc -l)");
	return 0;
}
