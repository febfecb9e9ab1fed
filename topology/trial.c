/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* setrlimit's resources, strsignal */
#include "topology/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void child(void (*try)(void *arg), void *arg, unsigned seconds)
{
	static const int deadly[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGXCPU };
	struct rlimit no_core = { 0, 0 }, cpu = { seconds, seconds + 1 };
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		signal(deadly[i], SIG_DFL);
	if (null >= 0)
		dup2(null, STDERR_FILENO);
	setrlimit(RLIMIT_CORE, &no_core);
	setrlimit(RLIMIT_CPU, &cpu);
	try(arg);
	_exit(0);
}

int trial(void (*try)(void *arg), void *arg, unsigned seconds, struct errbuf *err)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL }, before;
	int status = 0, error;
	pid_t pid, got = -1;

	fflush(NULL); /* or both processes would write what is in the buffers */
	/* who ignores it, as some daemons do, is not told how a child has ended */
	sigaction(SIGCHLD, &dfl, &before);
	pid = fork();
	if (pid == 0)
		child(try, arg, seconds);
	do {
		if (pid > 0)
			got = waitpid(pid, &status, 0);
		error = errno;
	} while (pid > 0 && got < 0 && error == EINTR);
	sigaction(SIGCHLD, &before, NULL);
	if (got < 0)
		return errprintf(err, "%s: %s", pid < 0 ? "fork" : "waitpid", strerror(error));
	if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
		return errprintf(err, "it takes more than %u seconds, or was killed", seconds);
	if (WIFSIGNALED(status))
		return errprintf(err, "it ends in signal %d (%s)", WTERMSIG(status),
				 strsignal(WTERMSIG(status)));
	/* a sanitizer's word for a crash */
	return WEXITSTATUS(status) == 0
		       ? 0
		       : errprintf(err, "it crashes (exit status %d)", WEXITSTATUS(status));
}
