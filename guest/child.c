/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void become_child(char *const *argv, const int *keep, unsigned n, pid_t parent)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	if (null < 0 || dup2(null, 0) < 0 || setpgid(0, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return;
	if (getppid() != parent)
		_exit(125); /* this process began after the end of its parent */
	/* glibc 2.31 has no function for this system call */
	if (syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		return;
	for (unsigned i = 0; i < n; i++)
		if (keep[i] >= 0 && fcntl(keep[i], F_SETFD, 0) < 0)
			return;
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv(argv[0], argv);
}

pid_t child_start(char *const *argv, const int *keep, unsigned n, struct errbuf *err)
{
	int report[2], error = 0;
	pid_t parent = getpid(), pid;

	if (pipe2(report, O_CLOEXEC) < 0)
		return errprintf(err, "pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		become_child(argv, keep, n, parent);
		error = errno;
		if (write(report[1], &error, sizeof(error)) < 0)
			_exit(126);
		_exit(125);
	}
	close(report[1]);
	if (pid < 0)
		errprintf(err, "fork: %s", strerror(errno));
	else if (read(report[0], &error, sizeof(error)) > 0) {
		waitpid(pid, NULL, 0);
		pid = errprintf(err, "%s: %s", argv[0], strerror(error));
	}
	close(report[0]);
	return pid;
}
