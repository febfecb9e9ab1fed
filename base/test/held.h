/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_TEST_HELD_H
#define NODEOS_BASE_TEST_HELD_H

/*
 * A process that hangs in execve() and holds its exec_update_lock (test/guest/programs/hold.c), for
 * HELD_SECONDS at most and no longer than the test lives.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"

#define HELD_SECONDS "30"
#define HELD_PATH_MAX 512 /* bytes with the final NUL */

struct held {
	pid_t holder, pid; /* PID hangs; HOLDER serves the file that it executes */
};

/*
 * Run FN(ARG) in a child. Returns its exit status, or -1 when it was killed after LIMIT
 * milliseconds.
 */
static int held_apart(int (*fn)(void *arg), void *arg, long limit)
{
	long end = monotonic_ms() + limit;
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(fn(arg));
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (monotonic_ms() > end)
			kill(pid, SIGKILL);
		usleep(5000);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int held_read_stat(void *arg)
{
	char path[64], text[1024];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", *(pid_t *)arg);
	f = fopen(path, "re");
	return f && fgets(text, sizeof(text), f) ? 0 : 1;
}

/* Write the path of the program "hold" for the test whose argument 0, ROOM/test/NAME, is SELF. */
static void held_program(char path[HELD_PATH_MAX], const char *self)
{
	const char *end = strrchr(self, '/');

	snprintf(path, HELD_PATH_MAX, "%.*s/../../base/test/hold", end ? (int)(end - self) : 1,
		 end ? self : ".");
}

static void held_end(struct held *h)
{
	if (h->holder > 0) {
		kill(h->holder, SIGKILL);
		waitpid(h->holder, NULL, 0);
	}
	h->holder = 0;
}

/*
 * Start PROGRAM, the path of "hold". Returns NULL, or the reason why no process can be made to hang
 * here.
 */
static const char *held_begin(struct held *h, const char *program)
{
	char line[64] = "";
	int out[2];
	FILE *f;

	h->pid = 0;
	if (access("/dev/fuse", R_OK | W_OK) < 0)
		return "/dev/fuse is not accessible";
	if (pipe(out) < 0 || (h->holder = fork()) < 0)
		return "pipe or fork failed";
	if (h->holder == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], 1);
		close(out[0]);
		close(out[1]);
		execl(program, program, HELD_SECONDS, "exec", (char *)NULL);
		_exit(1);
	}
	close(out[1]);
	f = fdopen(out[0], "r");
	while (f && h->pid <= 0 && fgets(line, sizeof(line), f))
		if (strncmp(line, "executes", 8) == 0)
			h->pid = (pid_t)strtol(line + 8, NULL, 10);
	if (f)
		fclose(f);
	usleep(200000); /* "hold" prints the line just before the process takes the lock */
	if (h->pid > 0 && held_apart(held_read_stat, &h->pid, 500) < 0)
		return NULL;
	held_end(h);
	return "a user cannot mount a FUSE file system here, or a read of stat takes no lock";
}

#endif
