/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"

/*
 * slurmstepd's from the OOM killer, which is below 0. What the admin has set above is not lowered:
 * that is nobody's right but CAP_SYS_RESOURCE's. Async-signal-safe.
 */
static int give_up_immunity(void)
{
	int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	char sign = '\0';
	int rc = fd >= 0 && pread(fd, &sign, 1, 0) == 1 &&
				 (sign != '-' || pwrite(fd, "0", 1, 0) == 1)
			 ? 0
			 : -1;

	if (fd >= 0)
		close(fd);
	return rc;
}

/*
 * Between fork and exec, in what may be a copy of the multi-threaded
 * slurmstepd: async-signal-safe calls only. The raw system calls change this
 * process alone; glibc's wrappers would look for threads that are not there.
 */
static void child(const struct helper_run *h, int in, int out, int said)
{
	static char *const no_env[] = { "LC_ALL=C", NULL };
	struct rlimit nothing = { 0, 0 };
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;
	int extra = h->extra_fd;

	sigemptyset(&none);
	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, &dfl, NULL);
	sigprocmask(SIG_SETMASK, &none, NULL);

	/* move our ends above the numbers that they will be copied to */
	in = fcntl(in, F_DUPFD_CLOEXEC, 10);
	out = fcntl(out, F_DUPFD_CLOEXEC, 10);
	if (h->apart)
		said = fcntl(said, F_DUPFD_CLOEXEC, 10);
	if (extra >= 0)
		extra = fcntl(extra, F_DUPFD_CLOEXEC, 10);
	if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0)
		_exit(127);
	if (h->join_stderr && dup2(out, 2) < 0)
		_exit(127);
	/* who has a terminal of root's, be it as /dev/tty, can type into it (TIOCSTI) and read what
	 * is typed */
	if (h->apart && (setsid() < 0 || dup2(said, 2) < 0))
		_exit(127);
	for (int fd = 3; h->apart && fd < 1024; fd++)
		if (fd != extra)
			close(fd);
	if (!h->keep_stderr && !h->join_stderr && !h->apart) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		if (null < 0 || dup2(null, 2) < 0)
			_exit(127);
	}
	if (extra >= 0 ? dup2(extra, 3) < 0 : false)
		_exit(127);
	/*
	 * A user's own command keeps its files (a manifest may be /dev/fd/63). One that drops
	 * root's rights keeps none of slurmstepd's, nor its immunity from the OOM killer.
	 */
	if (h->uid != (uid_t)-1) {
		if (give_up_immunity() < 0 ||
		    syscall(SYS_close_range, extra >= 0 ? 4U : 3U, ~0U, 0) < 0)
			_exit(126);
		if (setrlimit(RLIMIT_CORE, &nothing) < 0 || chdir("/") < 0 ||
		    syscall(SYS_setgroups, 0, NULL) < 0 ||
		    syscall(SYS_setresgid, h->gid, h->gid, h->gid) < 0 ||
		    syscall(SYS_setresuid, h->uid, h->uid, h->uid) < 0 ||
		    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
			_exit(126);
#ifndef NODEOS_SANITIZERS /* at its end, LeakSanitizer looks from a process of its own */
		/* it is in slurmstepd's own cgroup: its user, should he get hold of it, makes no
		 * other process there */
		if (setrlimit(RLIMIT_NPROC, &nothing) < 0)
			_exit(126);
#endif
	}
	execve(h->argv[0], (char *const *)h->argv, h->uid != (uid_t)-1 ? no_env : environ);
	_exit(errno == ENOENT ? 125 : 127);
}

/* Pass on what it says to our standard error; how many bytes, 0: it has said all. */
static ssize_t pass_on(int said)
{
	char piece[512];
	ssize_t n = read(said, piece, sizeof(piece));

	for (ssize_t i = 0; i < n; i++)
		if ((piece[i] < ' ' && piece[i] != '\n') || piece[i] > '~')
			piece[i] = '?';
	if (n > 0)
		fwrite(piece, 1, (size_t)n, stderr);
	return n;
}

/* Feed the input and drain the output until both ends are closed. */
static int talk(const struct helper_run *h, int in, int out, int said, char **text,
		struct errbuf *err)
{
	long end = monotonic_ms() + (long)h->timeout * 1000;
	size_t left = h->input ? strlen(h->input) : 0;
	const char *next = h->input;
	size_t used = 0, room = 4096;
	char *buf = malloc(room);

	if (!buf)
		return errprintf(err, "out of memory");
	for (;;) {
		struct pollfd p[3] = { { out, POLLIN, 0 },
				       { left ? in : -1, POLLOUT, 0 },
				       { said, POLLIN, 0 } };
		long wait = end - monotonic_ms();
		ssize_t n;

		if (!left && in >= 0) {
			close(in);
			in = -1;
		}
		if (wait <= 0 || poll(p, 3, (int)wait) == 0) {
			errprintf(err, "%s: no answer within %u s", h->argv[0], h->timeout);
			break;
		}
		if (p[1].revents) {
			n = write(in, next, left);
			if (n > 0) {
				next += n;
				left -= (size_t)n;
			} else if (errno != EINTR && errno != EAGAIN) {
				left = 0; /* it wants no more; its answer says why */
			}
		}
		if (p[2].revents && pass_on(said) == 0)
			said = -1;
		if (!p[0].revents)
			continue;
		if (used + 1 == room) {
			char *more = room <= h->output_max ? realloc(buf, room * 2) : NULL;

			if (!more) {
				errprintf(err, "%s: answer longer than %zu bytes", h->argv[0],
					  h->output_max);
				break;
			}
			buf = more;
			room *= 2;
		}
		n = read(out, buf + used, room - used - 1);
		if (n > 0) {
			used += (size_t)n;
			if (h->heard)
				h->heard(buf, used, h->arg);
		} else if (n == 0) {
			/* who has taken it over may have closed the one, and speak on the other as
			 * fast as this reads */
			while (said >= 0 && monotonic_ms() < end && pass_on(said) > 0)
				;
			if (in >= 0)
				close(in);
			buf[used] = '\0';
			*text = buf;
			return 0;
		} else if (errno != EINTR && errno != EAGAIN) {
			errprintf(err, "%s: %s", h->argv[0], strerror(errno));
			break;
		}
	}
	if (in >= 0)
		close(in);
	buf[used] = '\0';
	*text = buf;
	return -1;
}

static pid_t wait_for(pid_t pid, int *status)
{
	const struct timespec step = { 0, 2000000 };
	pid_t got = 0;

	for (int i = 0; i < 500; i++) {
		got = waitpid(pid, status, WNOHANG);
		if (got != 0 && !(got < 0 && errno == EINTR))
			return got;
		nanosleep(&step, NULL);
	}
	return 0;
}

/*
 * It has closed its output or was killed: it ends at once, unless its owner holds it. Then it is
 * killed. One that a debugger holds even so (0) is left to init: nobody may make slurmstepd wait.
 */
static pid_t reap(pid_t pid, int *status)
{
	pid_t got = wait_for(pid, status);

	if (got != 0)
		return got;
	kill(pid, SIGKILL);
	return wait_for(pid, status);
}

int helper_run(const struct helper_run *h, char **out, struct errbuf *err)
{
	int to[2], from[2], said[2] = { -1, -1 };
	void (*old_pipe)(int);
	char *text = NULL;
	int status = 0, rc;
	pid_t pid, got;

	if (pipe2(to, O_CLOEXEC) < 0)
		return errprintf(err, "pipe: %s", strerror(errno));
	if (pipe2(from, O_CLOEXEC) < 0) {
		errprintf(err, "pipe: %s", strerror(errno));
		close(to[0]);
		close(to[1]);
		return -1;
	}
	if (h->apart && pipe2(said, O_CLOEXEC) < 0) {
		errprintf(err, "pipe: %s", strerror(errno));
		close(to[0]);
		close(to[1]);
		close(from[0]);
		close(from[1]);
		return -1;
	}
	fcntl(to[1], F_SETFL, O_NONBLOCK);
	if (h->apart)
		fcntl(said[0], F_SETFL, O_NONBLOCK);
	pid = fork();
	if (pid == 0)
		child(h, to[0], from[1], said[1]);
	close(to[0]);
	close(from[1]);
	if (said[1] >= 0)
		close(said[1]);
	if (pid < 0) {
		errprintf(err, "fork: %s", strerror(errno));
		close(to[1]);
		close(from[0]);
		if (said[0] >= 0)
			close(said[0]);
		return -1;
	}
	old_pipe = signal(SIGPIPE, SIG_IGN);
	rc = talk(h, to[1], from[0], said[0], &text, err);
	if (rc < 0)
		kill(pid, SIGKILL);
	signal(SIGPIPE, old_pipe);
	close(from[0]);
	if (said[0] >= 0)
		close(said[0]);
	got = reap(pid, &status);
	if (rc < 0 && h->keep_partial)
		*out = text;
	else if (rc < 0)
		free(text);
	if (rc < 0)
		return -1;
	if (got == 0) {
		free(text);
		return errprintf(err, "%s: somebody keeps it from ending", h->argv[0]);
	}
	if (got == pid && !WIFEXITED(status)) {
		free(text);
		return errprintf(err, "%s: died of signal %d", h->argv[0], WTERMSIG(status));
	}
	status = got == pid ? WEXITSTATUS(status) : 0;
	if (status >= 125) {
		free(text);
		return errprintf(err, "%s: %s", h->argv[0],
				 status == 125 ? "not installed" : "could not be started");
	}
	*out = text;
	return status;
}
