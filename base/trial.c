/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* setrlimit's resources, strsignal, pipe2 */
#include "base/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"

/*
 * Limit of elapsed time, as a multiple of CPU time: a process that sleeps, such as in a read from a
 * dead file server, uses no CPU time.
 */
#define ELAPSED_PER_CPU_SECOND 5

/* Bytes. hwloc needs some hundred megabytes for the largest machines. */
#define MEMORY_MAX (UINT64_C(4) << 30)

/* The sanitizers reserve terabytes for their shadow memory. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || \
	__has_feature(thread_sanitizer)
#define SHADOW 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHADOW 1
#endif

/*
 * Limit the memory that this process maps in addition to what the caller had mapped. A lower limit
 * that the caller has set stays.
 */
static void limit_memory(void)
{
#ifndef SHADOW
	uint64_t pages = 0, bytes;
	FILE *f = fopen("/proc/self/statm", "re");
	struct rlimit as;

	if (f && fscanf(f, "%" SCNu64, &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE) + MEMORY_MAX;
	if (getrlimit(RLIMIT_AS, &as) < 0 || (as.rlim_cur != RLIM_INFINITY && as.rlim_cur < bytes))
		return;
	as.rlim_cur = (rlim_t)bytes;
	setrlimit(RLIMIT_AS, &as);
#endif
}

static void trial_child(void (*try)(void *arg), void *arg, unsigned seconds)
{
	static const int deadly[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGXCPU };
	struct rlimit no_core = { 0, 0 }, cpu = { seconds, seconds + 1 };
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++) {
		signal(deadly[i], SIG_DFL);
		sigaddset(&set, deadly[i]);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	if (null >= 0)
		dup2(null, STDERR_FILENO);
	setrlimit(RLIMIT_CORE, &no_core);
	setrlimit(RLIMIT_CPU, &cpu);
	limit_memory();
	try(arg);
	_exit(0);
}

/*
 * Wait until PID ends. PID is the last process that has the other end of the pipe ALIVE open.
 * Returns whether PID had to be killed.
 */
static bool kill_late(pid_t pid, int alive, unsigned seconds)
{
	long end = monotonic_ms() + (long)seconds * 1000, left;
	struct pollfd wait = { .fd = alive };
	int rc;

	do {
		left = end - monotonic_ms();
		rc = poll(&wait, 1, left > 0 ? (int)left : 0);
	} while (rc < 0 && errno == EINTR);
	if (rc == 0)
		kill(pid, SIGKILL);
	return rc == 0;
}

static int trial_judge(int status, bool late, struct trial_limits limits, struct errbuf *err)
{
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (late)
		return errprintf(err, "the process had not ended after %u seconds",
				 limits.elapsed_seconds);
	if (sig == SIGXCPU || sig == SIGKILL)
		return errprintf(err,
				 "the process used more than %u seconds of CPU time, or was killed",
				 limits.cpu_seconds);
	if (sig)
		return errprintf(err, "the process died of signal %d (%s)", sig, strsignal(sig));
	/* after a crash, a sanitizer exits with a status above 0 */
	return WEXITSTATUS(status) == 0 ? 0
					: errprintf(err, "the process crashed (exit status %d)",
						    WEXITSTATUS(status));
}

int trial_within(struct trial_limits limits, void (*try)(void *arg), void *arg, struct errbuf *err)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL }, before;
	int status = 0, error, alive[2];
	bool late = false;
	pid_t pid, got = -1;

	if (pipe2(alive, O_CLOEXEC) < 0)
		return errprintf(err, "pipe: %s", strerror(errno));
	fflush(NULL); /* otherwise both processes would write the buffered output */
	/* if the caller ignores SIGCHLD, the kernel discards the child's exit status */
	sigaction(SIGCHLD, &dfl, &before);
	pid = fork();
	error = errno;
	if (pid == 0)
		trial_child(try, arg, limits.cpu_seconds);
	close(alive[1]);
	if (pid > 0)
		late = kill_late(pid, alive[0], limits.elapsed_seconds);
	close(alive[0]);
	while (pid > 0 && got < 0) {
		got = waitpid(pid, &status, 0);
		error = errno;
		if (got < 0 && error != EINTR)
			break;
	}
	sigaction(SIGCHLD, &before, NULL);
	if (got < 0)
		return errprintf(err, "%s: %s", pid < 0 ? "fork" : "waitpid", strerror(error));
	return trial_judge(status, late, limits, err);
}

int trial(void (*try)(void *arg), void *arg, unsigned seconds, struct errbuf *err)
{
	struct trial_limits limits = { seconds, ELAPSED_PER_CPU_SECOND * seconds };

	return trial_within(limits, try, arg, err);
}
