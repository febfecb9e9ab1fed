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
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"

_Static_assert(APART_RESULT_MAX <= PIPE_BUF, "a write to a pipe is atomic up to PIPE_BUF");

/*
 * Open /dev/null on each descriptor except OUT and KEEP. This process may outlive the caller, and a
 * lock is held as long as any process has its file open. Closing the descriptors is not enough: a
 * file opened later would get a number to which the caller's log still writes.
 */
static int drop_files(int out, int keep)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), rc = null < 0 ? -1 : 0;
	struct dirent *e;
	DIR *dir;

	/* open 0 to 2 even if the caller has closed them: no later file may get these numbers */
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

static int move_to_cgroup(int keep, const char *cgroup)
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

/*
 * This process may run in a user's cgroup: let the kernel kill it before the user's processes when
 * memory is short, and give up the caller's priority, which would slow these processes.
 */
static int yield_to_user(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	int rc = fd >= 0 && write(fd, "1000", 4) == 4 ? 0 : -1;

	if (fd >= 0)
		close(fd);
	errno = 0;
	if (getpriority(PRIO_PROCESS, 0) < 0)
		rc |= setpriority(PRIO_PROCESS, 0, 0);
	return rc;
}

/*
 * Become the user. Also make this process undumpable, so that the user cannot trace it: the change
 * of uid alone does not if the sysctl fs.suid_dumpable is 1.
 */
static int become_user(uid_t uid, gid_t gid)
{
	return setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
			       setresuid(uid, uid, uid) < 0 ||
			       prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
			       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
		       ? -1
		       : 0;
}

/* End this process when CALLER, which started it, ends. Returns -1 if CALLER has ended already. */
static int end_with(pid_t caller)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid() == caller ? 0 : -1;
}

static _Noreturn void run_apart_process(const struct apart *a, int out, pid_t caller)
{
	char result[APART_RESULT_MAX] = { 0 };

	if (drop_files(out, a->keep_fd) < 0 || (a->as_user && yield_to_user() < 0) ||
	    (a->cgroup && move_to_cgroup(a->keep_fd, a->cgroup) < 0) ||
	    (a->as_user && become_user(a->uid, a->gid) < 0) ||
	    /* last: a change of uid cancels the signal that ends this process with its caller */
	    (a->ends_with_caller && end_with(caller) < 0))
		_exit(1);
	a->work(a->arg, result);
	_exit(write(out, result, a->size) == (ssize_t)a->size ? 0 : 1);
}

int apart_start(struct apart_process *p, const struct apart *a, struct errbuf *err)
{
	pid_t caller = getpid(), pid;
	int ends[2];

	if (a->size > APART_RESULT_MAX)
		return errprintf(err, "a result of %zu bytes is too large", a->size);
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return errprintf(err, "pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0)
		run_apart_process(a, ends[1], caller);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return errprintf(err, "fork: %s", strerror(errno));
	}
	*p = (struct apart_process){ .pid = pid,
				     .in = ends[0],
				     .end = monotonic_ms() + 1000L * a->seconds,
				     .size = a->size,
				     .seconds = a->seconds };
	return 0;
}

bool apart_abandon(struct apart_process *p)
{
	if (p->in >= 0)
		close(p->in);
	p->in = -1;
	/*
	 * The user may stop the process even after its result has arrived, so kill it. If the
	 * kernel delays its end, init reaps it after the caller's end.
	 */
	if (p->pid > 0 && (kill(p->pid, SIGKILL), waitpid(p->pid, NULL, WNOHANG)) != 0)
		p->pid = 0;
	return p->pid == 0;
}

enum apart_end apart_check(struct apart_process *p, void *result, struct errbuf *err)
{
	char got[APART_RESULT_MAX];
	ssize_t n = read(p->in, got, p->size);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (monotonic_ms() < p->end)
			return APART_AT_WORK;
		apart_abandon(p);
		errprintf(err, "not finished within %u s", p->seconds);
		return APART_LATE;
	}
	apart_abandon(p);
	if (n != (ssize_t)p->size) {
		errprintf(err, "the process could not start, or was killed");
		return APART_FAILED;
	}
	memcpy(result, got, p->size);
	return APART_DONE;
}

/* Wait until P has sent its result or its time is over. */
static void wait_for_result(const struct apart_process *p)
{
	struct pollfd f = { .fd = p->in, .events = POLLIN };
	long left = p->end - monotonic_ms();

	poll(&f, 1, left > 0 ? (int)left : 0);
}

enum apart_end apart_run(const struct apart *a, void *result, struct errbuf *err)
{
	const struct timespec pause = { 0, 1000000 };
	struct apart_process p;
	enum apart_end rc;

	if (apart_start(&p, a, err) < 0)
		return APART_FAILED;
	do {
		wait_for_result(&p);
		rc = apart_check(&p, result, err);
	} while (rc == APART_AT_WORK);
	/* wait for the end of the process as well, within its time limit */
	while (!apart_abandon(&p) && monotonic_ms() < p.end)
		nanosleep(&pause, NULL);
	return rc;
}
