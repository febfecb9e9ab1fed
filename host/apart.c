/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/apart.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"

_Static_assert(APART_RESULT_MAX <= PIPE_BUF, "a result is written whole or not at all");

/*
 * Turn each file but OUT and KEEP into /dev/null. A lock stays held as long as a process has its
 * file open, and this one may outlive the caller. Closing is not enough: the next opened file would
 * get the free number, and the caller's log, which still writes to that number, would write to it.
 */
static int drop_files(int out, int keep)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), rc = null < 0 ? -1 : 0;
	struct dirent *e;
	DIR *dir;

	/* the caller may have closed 0 to 2: no later file may get these numbers */
	for (int fd = 0; rc == 0 && fd <= 2; fd++)
		rc = fd != out && fd != keep && dup2(null, fd) < 0 ? -1 : 0;
	dir = rc == 0 ? opendir("/proc/self/fd") : NULL;
	if (!dir)
		return -1;
	while (rc == 0 && (e = readdir(dir)) != NULL) {
		int fd = atoi(e->d_name); /* 0 for "." and ".." */

		if (fd > 2 && fd != out && fd != keep && fd != null && fd != dirfd(dir))
			rc = dup2(null, fd) < 0 ? -1 : 0;
	}
	closedir(dir);
	return rc;
}

static int go_to(int keep, const char *cgroup)
{
	char path[PATH_MAX];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fd = openat(keep, path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	rc = fd >= 0 && write(fd, "0", 1) == 1 ? 0 : -1;
	if (fd >= 0)
		close(fd);
	return rc;
}

/* A change of uid makes the process undumpable, so its new user cannot trace it. */
static int become(uid_t uid, gid_t gid)
{
	return setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
			       setresuid(uid, uid, uid) < 0 ||
			       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
		       ? -1
		       : 0;
}

static _Noreturn void process(const struct apart *a, int out)
{
	char result[APART_RESULT_MAX] = { 0 };

	if (drop_files(out, a->keep_fd) < 0 || (a->cgroup && go_to(a->keep_fd, a->cgroup) < 0) ||
	    (a->as_user && become(a->uid, a->gid) < 0))
		_exit(1);
	a->work(a->arg, result);
	_exit(write(out, result, a->size) == (ssize_t)a->size ? 0 : 1);
}

/*
 * Read the result of SIZE bytes. Returns the bytes read before END, fewer when the process has
 * died, or -1.
 */
static ssize_t apart_hear(int in, void *result, size_t size, long end)
{
	struct pollfd p = { .fd = in, .events = POLLIN };
	long left;
	int rc;

	do {
		left = end - monotonic_ms();
		rc = poll(&p, 1, left > 0 ? (int)left : 0);
	} while (rc < 0 && errno == EINTR);
	return rc == 0 ? -1 : read(in, result, size);
}

enum apart_end apart_run(const struct apart *a, void *result, struct errbuf *err)
{
	const struct timespec pause = { 0, 1000000 };
	long end = monotonic_ms() + 1000L * a->seconds;
	char got[APART_RESULT_MAX];
	int ends[2];
	ssize_t n;
	pid_t pid;

	if (a->size > sizeof(got) || pipe2(ends, O_CLOEXEC) < 0) {
		errprintf(err, "pipe: %s", strerror(errno));
		return APART_FAILED;
	}
	pid = fork();
	if (pid == 0)
		process(a, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		errprintf(err, "fork: %s", strerror(errno));
		return APART_FAILED;
	}
	n = apart_hear(ends[0], got, a->size, end);
	close(ends[0]);
	/* The process's user may stop it even after the result has arrived, so kill it and wait
	 * until END. A process that the kernel holds longer becomes init's when the caller ends. */
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, WNOHANG) == 0 && monotonic_ms() < end)
		nanosleep(&pause, NULL);
	if (n < 0) {
		errprintf(err, "not finished within %u s", a->seconds);
		return APART_LATE;
	}
	if (n != (ssize_t)a->size) {
		errprintf(err, "the process could not start, or died");
		return APART_FAILED;
	}
	memcpy(result, got, a->size);
	return APART_DONE;
}
