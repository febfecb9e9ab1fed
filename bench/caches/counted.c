/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * counted FILE COMMAND ARG...: run COMMAND, and count events of the simulated cache for COMMAND and
 * all its descendants. Writes the counts to FILE, as a line of names and numbers (bench/lib/llc.h).
 * The exit status is COMMAND's.
 */
#define _GNU_SOURCE
#include <sys/wait.h>

#include "bench/lib/llc.h"

int main(int argc, char **argv)
{
	uint64_t count[LLC_EVENTS];
	int go[2], status;
	struct llc llc;
	char c;
	pid_t pid;
	FILE *f;

	if (argc < 3 || pipe(go) < 0)
		return 125;
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &c, 1) == 1)
			execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0)
		die("fork");
	llc_open(&llc, pid, 1);
	if (write(go[1], "g", 1) != 1 || waitpid(pid, &status, 0) < 0)
		die(argv[2]);
	llc_read(&llc, count);
	f = fopen(argv[1], "w");
	if (!f)
		die(argv[1]);
	llc_show(f, count);
	fprintf(f, "\n");
	if (fclose(f) != 0)
		die(argv[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
