// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rounds COMMAND...: runs COMMAND, and prints how many requests to flush other CPUs' TLBs were made
 * meanwhile.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "flushes.h"

int main(int argc, char **argv)
{
	int fd[FLUSH_CPUS], cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), status;
	uint64_t before;

	if (argc < 2 || cpus > FLUSH_CPUS || flushes_open(fd, cpus)) {
		printf("rounds: %s\n", strerror(errno));
		return 2;
	}
	before = flushes_read(fd, cpus);
	if (fork() == 0) {
		execv(argv[1], argv + 1);
		_exit(127);
	}
	wait(&status);
	printf("rounds %llu\n", (unsigned long long)(flushes_read(fd, cpus) - before));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
