/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/buffer_source.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "host/apart.h"

/* the user neither owns the file nor may write to it; other errors are those of open(2) */
#define NOT_HIS (-1)
#define GROUPS_HERE 500 /* greatest number of a user's groups if Slurm does not give them */

static int open_flags(const struct request_dimmap *ask)
{
	/* without O_NONBLOCK, opening a named pipe would wait */
	return (ask->read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
}

static int open_device(const struct request_dimmap *ask, struct errbuf *err)
{
	int fd = open(ask->source, open_flags(ask));
	struct stat st;

	if (fd < 0)
		return errprintf(err, "%s: %s", ask->source, strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISBLK(st.st_mode))
		return fd;
	close(fd);
	return errprintf(err, "%s: is not a block device", ask->source);
}

/* A user's groups, from the node's user database. */
struct groups {
	int n; /* 0: the user has more than GROUPS_HERE */
	gid_t list[GROUPS_HERE];
};
_Static_assert(sizeof(struct groups) <= APART_RESULT_MAX,
	       "the groups must fit in a result of apart_run()");

/* Runs in a child process. A user without a name in the database has only the job's group. */
static void look_groups_up(void *arg, void *result)
{
	const struct buffer *b = arg;
	struct groups *g = result;
	struct passwd pw, *found = NULL;
	char text[4096];

	g->list[0] = b->gid;
	g->n = 1;
	if (getpwuid_r(b->uid, &pw, text, sizeof(text), &found) != 0 || !found)
		return;
	g->n = GROUPS_HERE;
	if (getgrouplist(pw.pw_name, b->gid, g->list, &g->n) < 0)
		g->n = 0;
}

/*
 * Return the groups that Slurm gave: a node's user database may not know the user. If Slurm gave
 * none, look them up in that database, into HERE. Returns NULL with the reason if the database does
 * not answer within SECONDS, or if the user has too many groups.
 */
static const gid_t *groups_of(const struct buffer *b, struct groups *here, unsigned seconds, int *n,
			      struct errbuf *err)
{
	struct apart a = {
		.work = look_groups_up,
		.arg = (void *)b,
		.size = sizeof(*here),
		.keep_fd = -1,
		.seconds = seconds,
	};

	*n = b->n_groups;
	if (*n > 0)
		return b->group;
	if (apart_run(&a, here, err) != APART_DONE) {
		errwrap(err, "the user database does not report the groups of uid %u",
			(unsigned)b->uid);
		return NULL;
	}
	*n = here->n;
	if (*n > 0)
		return here->list;
	errprintf(err, "uid %u has more than %d groups, and Slurm did not report them",
		  (unsigned)b->uid, GROUPS_HERE);
	return NULL;
}

/* Send the child's result: a descriptor, or the error that prevented it. */
static void send_result(int to, int fd, int error)
{
	descriptors_send(to, &error, sizeof(error), &fd, fd >= 0);
}

static int receive_result(int from, int *error)
{
	int fd;

	if (descriptors_receive(from, error, sizeof(*error), &fd, 1, 0) !=
	    (ssize_t)sizeof(*error)) {
		*error = ECHILD;
		return -1;
	}
	return fd;
}

/*
 * Runs between fork and exit, possibly in a copy of the multi-threaded slurmstepd. So it makes
 * async-signal-safe calls only, and raw system calls where glibc's wrappers look for threads. After
 * the change of user, that user can kill this process but not trace it.
 */
static void buffer_source_child(const struct buffer *b, const gid_t *group, int n, int to)
{
	const struct request_dimmap *ask = b->ask;
	sigset_t none;
	struct stat st;
	int fd;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* drop slurmstepd's files and its immunity from the OOM killer */
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, "0", 1) != 1)
		_exit(1);
	if (syscall(SYS_close_range, 0U, (unsigned)to - 1, 0) < 0 ||
	    syscall(SYS_close_range, (unsigned)to + 1, ~0U, 0) < 0 || chdir("/") < 0)
		_exit(1);
	if (geteuid() != b->uid && (syscall(SYS_setgroups, n, group) < 0 ||
				    syscall(SYS_setresgid, b->gid, b->gid, b->gid) < 0 ||
				    syscall(SYS_setresuid, b->uid, b->uid, b->uid) < 0 ||
				    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)) {
		send_result(to, -1, errno);
		_exit(1);
	}
	fd = open(ask->source, open_flags(ask));
	if (fd < 0)
		send_result(to, -1, errno);
	else if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		send_result(to, -1, ENOTSUP);
	else if (ask->read_only && st.st_uid != b->uid &&
		 syscall(SYS_faccessat2, fd, "", W_OK, AT_EMPTY_PATH) < 0)
		send_result(to, -1, NOT_HIS);
	else
		send_result(to, fd, 0);
	_exit(0);
}

/* Kill and reap the child; if its user or the file system delays its end, init reaps it. */
static void buffer_source_reap(pid_t pid)
{
	const struct timespec step = { 0, 2000000 };

	kill(pid, SIGKILL);
	for (int i = 0; i < 500 && waitpid(pid, NULL, WNOHANG) == 0; i++)
		nanosleep(&step, NULL);
}

static int open_as(const struct buffer *b, unsigned seconds, struct errbuf *err)
{
	const struct request_dimmap *ask = b->ask;
	struct pollfd p = { .events = POLLIN };
	int pair[2], n, error = ETIMEDOUT, fd = -1;
	struct groups here;
	const gid_t *group;
	pid_t pid;

	/* a name below /proc may lead to files of the process that opens it, here root's */
	if (strncmp(ask->source, "/proc/", 6) == 0)
		return errprintf(err, "%s: a file below /proc cannot be the source of a buffer",
				 ask->source);
	group = groups_of(b, &here, seconds, &n, err);
	if (!group)
		return errwrap(err, "%s", ask->source);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return errprintf(err, "%s: socketpair: %s", ask->source, strerror(errno));
	pid = fork();
	if (pid == 0)
		buffer_source_child(b, group, n, pair[1]);
	close(pair[1]);
	if (pid < 0) {
		error = errno;
	} else {
		p.fd = pair[0];
		if (poll(&p, 1, (int)seconds * 1000) > 0)
			fd = receive_result(pair[0], &error);
		buffer_source_reap(pid);
	}
	close(pair[0]);
	if (fd < 0 && error == ENOTSUP)
		return errprintf(err, "%s: is not a regular file", ask->source);
	if (fd < 0 && error == NOT_HIS)
		return errprintf(err,
				 "%s: uid %u must own the file or have write access to it: while a "
				 "buffer uses a file, no other process can write to it",
				 ask->source, (unsigned)b->uid);
	if (fd < 0 && error == ETIMEDOUT)
		return errprintf(err, "%s: not opened within %u s (helper_timeout)", ask->source,
				 seconds);
	if (fd < 0)
		return errprintf(err, "%s: cannot be opened for %s by its user (uid %u): %s",
				 ask->source, ask->read_only ? "reading" : "reading and writing",
				 (unsigned)b->uid, strerror(error));
	return fd;
}

int buffer_source_open(const struct buffer *b, const struct conf *conf, const char *conf_path,
		       struct errbuf *err)
{
	const struct request_dimmap *ask = b->ask;

	if (conf_check_source(conf, ask->source, conf_path, err) < 0)
		return -1;
	if (conf_allows_device(conf, ask->source))
		return open_device(ask, err);
	return open_as(b, conf->helper_timeout, err);
}
