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
 * Raise a negative oom_score_adj to 0: slurmstepd has a negative one, as protection against the OOM
 * killer. A value above 0 is the admin's and stays. Async-signal-safe.
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

/* Pipes to and from the child. [0] is the end to read, [1] the end to write; -1: not open. */
struct pipes {
	int in[2];
	int out[2];
	int messages[2]; /* standard error of a child with subprocess.apart */
};

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_pipes(struct pipes *p)
{
	for (int i = 0; i < 2; i++) {
		close_end(&p->in[i]);
		close_end(&p->out[i]);
		close_end(&p->messages[i]);
	}
}

static int open_pipes(struct pipes *p, bool apart, struct errbuf *err)
{
	*p = (struct pipes){ { -1, -1 }, { -1, -1 }, { -1, -1 } };
	if (pipe2(p->in, O_CLOEXEC) < 0 || pipe2(p->out, O_CLOEXEC) < 0 ||
	    (apart && pipe2(p->messages, O_CLOEXEC) < 0)) {
		errprintf(err, "pipe: %s", strerror(errno));
		close_pipes(p);
		return -1;
	}
	fcntl(p->in[1], F_SETFL, O_NONBLOCK);
	if (apart)
		fcntl(p->messages[0], F_SETFL, O_NONBLOCK);
	return 0;
}

/*
 * This function and all that it calls are async-signal-safe: it runs between fork and exec,
 * possibly in a copy of the multi-threaded slurmstepd.
 */
static void connect_files(const struct subprocess *h, const struct pipes *p)
{
	int in, out, messages = -1, extra = h->extra_fd;

	/* dup2() below overwrites descriptors 0 to 3, so move the pipes above them */
	in = fcntl(p->in[0], F_DUPFD_CLOEXEC, 10);
	out = fcntl(p->out[1], F_DUPFD_CLOEXEC, 10);
	if (h->apart)
		messages = fcntl(p->messages[1], F_DUPFD_CLOEXEC, 10);
	if (extra >= 0)
		extra = fcntl(extra, F_DUPFD_CLOEXEC, 10);
	if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0)
		_exit(127);
	if (h->join_stderr && dup2(out, 2) < 0)
		_exit(127);
	/* a program with access to root's terminal, even by /dev/tty, could type into it (TIOCSTI)
	 * and read what root types */
	if (h->apart && (setsid() < 0 || dup2(messages, 2) < 0))
		_exit(127);
	for (int fd = 3; h->apart && fd < 1024; fd++)
		if (fd != extra)
			close(fd);
	if (!h->keep_stderr && !h->join_stderr && !h->apart) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		if (null < 0 || dup2(null, 2) < 0)
			_exit(127);
	}
	if (extra >= 0 && dup2(extra, 3) < 0)
		_exit(127);
}

/*
 * Drop root's rights, slurmstepd's files and its immunity from the OOM killer. Use raw system
 * calls, which change this thread alone: glibc's wrappers would look for threads that the fork does
 * not have.
 */
static void drop_rights(const struct subprocess *h)
{
	struct rlimit nothing = { 0, 0 };

	if (give_up_immunity() < 0 ||
	    syscall(SYS_close_range, h->extra_fd >= 0 ? 4U : 3U, ~0U, 0) < 0)
		_exit(126);
	if (setrlimit(RLIMIT_CORE, &nothing) < 0 || chdir("/") < 0 ||
	    syscall(SYS_setgroups, 0, NULL) < 0 ||
	    syscall(SYS_setresgid, h->gid, h->gid, h->gid) < 0 ||
	    syscall(SYS_setresuid, h->uid, h->uid, h->uid) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(126);
#ifndef NODEOS_SANITIZERS /* LeakSanitizer starts a process at exit */
	/* the child is in slurmstepd's own cgroup: a user who gets control of the child must not be
	 * able to start a process there */
	if (setrlimit(RLIMIT_NPROC, &nothing) < 0)
		_exit(126);
#endif
}

static void exec_program(const struct subprocess *h, const struct pipes *p)
{
	static char *const no_env[] = { "LC_ALL=C", NULL };
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;

	sigemptyset(&none);
	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, &dfl, NULL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	connect_files(h, p);
	/* a user's own command keeps its open files: its manifest may be /dev/fd/63 */
	if (h->uid != (uid_t)-1)
		drop_rights(h);
	execve(h->argv[0], (char *const *)h->argv, h->uid != (uid_t)-1 ? no_env : environ);
	_exit(errno == ENOENT ? 125 : 127);
}

/* Copy a piece of the child's standard error to ours. Returns the number of bytes, 0 at its end. */
static ssize_t copy_messages(int messages)
{
	char piece[512];
	ssize_t n = read(messages, piece, sizeof(piece));

	for (ssize_t i = 0; i < n; i++)
		if ((piece[i] < ' ' && piece[i] != '\n') || piece[i] > '~')
			piece[i] = '?';
	if (n > 0)
		fwrite(piece, 1, (size_t)n, stderr);
	return n;
}

/* The input of the program and its output so far. */
struct dialogue {
	const struct subprocess *h;
	const char *next; /* the rest of the input */
	size_t left;
	char *text; /* the output so far, with room for a final NUL */
	size_t used, capacity;
};

static void feed_input(struct dialogue *d, int in)
{
	ssize_t n = write(in, d->next, d->left);

	if (n > 0) {
		d->next += n;
		d->left -= (size_t)n;
	} else if (errno != EINTR && errno != EAGAIN) {
		/* the program has stopped reading; its output or exit status shows why */
		d->left = 0;
	}
}

/* Read a piece of the output. Returns 1, 0 at its end, or -1. */
static int read_output(struct dialogue *d, int out, struct errbuf *err)
{
	ssize_t n;

	if (d->used + 1 == d->capacity) {
		char *more = d->capacity <= d->h->output_max ? realloc(d->text, d->capacity * 2)
							     : NULL;

		if (!more)
			return errprintf(err, "%s: its output is longer than %zu bytes",
					 d->h->argv[0], d->h->output_max);
		d->text = more;
		d->capacity *= 2;
	}
	n = read(out, d->text + d->used, d->capacity - d->used - 1);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN
			       ? 1
			       : errprintf(err, "%s: %s", d->h->argv[0], strerror(errno));
	d->used += (size_t)n;
	if (n > 0 && d->h->on_output)
		d->h->on_output(d->text, d->used, d->h->arg);
	return n > 0;
}

/* Write the input and read the output until the output ends. */
static int exchange_text(struct dialogue *d, struct pipes *p, struct errbuf *err)
{
	long end = monotonic_ms() + (long)d->h->timeout * 1000;
	int messages = p->messages[0], rc = 1;

	while (rc > 0) {
		struct pollfd f[3] = { { p->out[0], POLLIN, 0 },
				       { d->left ? p->in[1] : -1, POLLOUT, 0 },
				       { messages, POLLIN, 0 } };
		long wait = end - monotonic_ms();

		if (!d->left)
			close_end(&p->in[1]);
		if (wait <= 0 || poll(f, 3, (int)wait) == 0)
			return errprintf(err, "%s: no answer within %u s", d->h->argv[0],
					 d->h->timeout);
		if (f[1].revents)
			feed_input(d, p->in[1]);
		if (f[2].revents && copy_messages(messages) == 0)
			messages = -1;
		if (f[0].revents)
			rc = read_output(d, p->out[0], err);
	}
	/*
	 * a user who controls the program may close its output and write to standard error as fast
	 * as this loop reads
	 */
	while (rc == 0 && messages >= 0 && monotonic_ms() < end && copy_messages(messages) > 0)
		;
	return rc;
}

/* Run the dialogue. *TEXT gets all output, even on failure; NULL: out of memory. */
static int run_dialogue(const struct subprocess *h, struct pipes *p, char **text,
			struct errbuf *err)
{
	struct dialogue d = {
		.h = h, .next = h->input, .left = h->input ? strlen(h->input) : 0, .capacity = 4096
	};
	int rc;

	*text = d.text = malloc(d.capacity);
	if (!d.text)
		return errprintf(err, "out of memory");
	rc = exchange_text(&d, p, err);
	d.text[d.used] = '\0';
	*text = d.text;
	return rc;
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
 * Reap a child that has closed its output or been killed. Such a child ends soon, unless its user
 * stops or traces it; then kill it. If a tracer keeps the child alive even so, leave it to init and
 * return 0, since no user may make slurmstepd wait.
 */
static pid_t subprocess_reap(pid_t pid, int *status)
{
	pid_t got = wait_for(pid, status);

	if (got != 0)
		return got;
	kill(pid, SIGKILL);
	return wait_for(pid, status);
}

/* Return the child's exit status, or -1; GOT and STATUS come from waitpid(). */
static int exit_status(const struct subprocess *h, pid_t got, int status, struct errbuf *err)
{
	if (got == 0)
		return errprintf(err, "%s: another process traces it and keeps it from ending",
				 h->argv[0]);
	if (got < 0)
		return 0;
	if (!WIFEXITED(status))
		return errprintf(err, "%s: died of signal %d", h->argv[0], WTERMSIG(status));
	if (WEXITSTATUS(status) >= 125)
		return errprintf(err, "%s: %s", h->argv[0],
				 WEXITSTATUS(status) == 125 ? "not installed"
							    : "could not be started");
	return WEXITSTATUS(status);
}

int subprocess_run(const struct subprocess *h, char **out, struct errbuf *err)
{
	void (*old_pipe)(int);
	char *text = NULL;
	int status = 0, rc;
	struct pipes p;
	pid_t pid, got;

	if (open_pipes(&p, h->apart, err) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		exec_program(h, &p);
	if (pid < 0) {
		errprintf(err, "fork: %s", strerror(errno));
		close_pipes(&p);
		return -1;
	}
	close_end(&p.in[0]);
	close_end(&p.out[1]);
	close_end(&p.messages[1]);
	old_pipe = signal(SIGPIPE, SIG_IGN);
	rc = run_dialogue(h, &p, &text, err);
	if (rc < 0)
		kill(pid, SIGKILL);
	signal(SIGPIPE, old_pipe);
	close_pipes(&p);
	got = subprocess_reap(pid, &status);
	if (rc < 0 && h->keep_partial) {
		*out = text;
		return -1;
	}
	if (rc == 0)
		rc = exit_status(h, got, status, err);
	if (rc < 0)
		free(text);
	else
		*out = text;
	return rc;
}
