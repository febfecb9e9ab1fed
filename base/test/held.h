/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_TEST_HELD_H
#define NODEOS_BASE_TEST_HELD_H

/*
 * A process that hangs in execve() with its exec_update_lock held (test/guest/programs/hold.c). It
 * hangs for HELD_SECONDS at most, whatever becomes of the test, and only as long as the test lives.
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
	pid_t holder, pid; /* the second one hangs */
};

/* Run FN(ARG) in a process of its own. Returns its exit status, or -1: it was killed after LIMIT
 * milliseconds. */
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

/* Write the path of "hold" for the test SELF, the argument 0 of ROOM/test/NAME. */
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

/* PROGRAM is the path of "hold". Returns NULL, or why there is no such process here. */
static const char *held_begin(struct held *h, const char *program)
{
	char line[64] = "";
	int out[2];
	FILE *f;

	h->pid = 0;
	if (access("/dev/fuse", R_OK | W_OK) < 0)
		return "no /dev/fuse here";
	if (pipe(out) < 0 || (h->holder = fork()) < 0)
		return "no pipe or process";
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
	usleep(200000); /* it prints that line just before it takes the lock */
	if (h->pid > 0 && held_apart(held_read_stat, &h->pid, 500) < 0)
		return NULL;
	held_end(h);
	return "a user cannot mount a file server, or stat waits for no lock";
}

#endif
