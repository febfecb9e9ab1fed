/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "contend/job_record.h"

#define HOST_MAX 128 /* bytes of a host's name with the final NUL */

int job_record_open(struct job_record_writer *w, const char *dir, const char *user,
		    struct errbuf *err)
{
	struct job_record_writer out = { .in = -1 };
	struct passwd *p;
	unsigned long number;
	char *end;

	if (dir[0] != '/' || strlen(dir) >= sizeof(out.dir))
		return errprintf(err, "%.100s is not an absolute path of less than %zu bytes", dir,
				 sizeof(out.dir));
	strcpy(out.dir, dir);
	if (*user) {
		number = strtoul(user, &end, 10);
		errno = 0;
		p = *end || number >= UINT32_MAX ? getpwnam(user) : getpwuid((uid_t)number);
		if (!p)
			return errprintf(err, "%.64s: %s", user,
					 errno ? strerror(errno) : "there is no such user");
		out.uid = p->pw_uid;
		out.gid = p->pw_gid;
	}
	*w = out;
	return 0;
}

/*
 * Open the job's directory after creating it if it is missing. Check that it belongs to this
 * process's user.
 */
static int open_job_dir(const char *dir, uint32_t job, struct errbuf *err)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), sub;
	struct stat st;
	char name[16];

	if (fd < 0)
		return errprintf(err, "%s: %s", dir, strerror(errno));
	snprintf(name, sizeof(name), "%u", job);
	if (mkdirat(fd, name, 0755) < 0 && errno != EEXIST) {
		errprintf(err, "%s/%s: %s", dir, name, strerror(errno));
		close(fd);
		return -1;
	}
	sub = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	close(fd);
	if (sub < 0)
		return errprintf(err, "%s/%s: %s", dir, name, strerror(errno));
	if (fstat(sub, &st) < 0 || st.st_uid != geteuid()) {
		close(sub);
		return errprintf(err, "%s/%s belongs to user %u, not to %u", dir, name,
				 (unsigned)st.st_uid, (unsigned)geteuid());
	}
	if ((st.st_mode & 07777) != 0755)
		fchmod(sub, 0755);
	return sub;
}

static int write_record(const char *dir, const char *host, const struct job_record_text *t,
			struct errbuf *err)
{
	int fd = open_job_dir(dir, t->job, err);
	char name[HOST_MAX + 8];
	int rc;

	if (fd < 0)
		return -1;
	snprintf(name, sizeof(name), "%s.json", host);
	rc = file_replace(fd, name, t->text, 0644, err);
	if (rc < 0)
		errwrap(err, "%s/%u", dir, t->job);
	close(fd);
	return rc;
}

/*
 * Drop all rights except those of W's user. The change of uid makes the process undumpable, so that
 * the user cannot trace it.
 */
static int take_rights(const struct job_record_writer *w)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	if (geteuid() != 0)
		return w->uid == geteuid() ? 0 : -1;
	return setgroups(0, NULL) < 0 || setresgid(w->gid, w->gid, w->gid) < 0 ||
			       setresuid(w->uid, w->uid, w->uid) < 0
		       ? -1
		       : 0;
}

/*
 * Close all descriptors except OUT: otherwise locks, sockets and counters would stay open in this
 * process.
 */
static int close_all_but(int out)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		if (fd != out && dup2(null, fd) < 0)
			return -1;
	if (null < 0 || (out > 3 && close_range(3, (unsigned)out - 1, 0) < 0))
		return -1;
	return close_range((unsigned)(out > 2 ? out : 2) + 1, ~0u, 0);
}

static _Noreturn void write_records(const struct job_record_writer *w, int out, const char *host,
				    const struct job_record_text *t, unsigned n)
{
	struct errbuf err = { 0 };
	sigset_t none;
	int rc;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_IGN);
	umask(022);
	if (close_all_but(out) < 0 || chdir("/") < 0 || take_rights(w) < 0) {
		errprintf(&err, "cannot become user %u: %s", (unsigned)w->uid, strerror(errno));
		rc = -1;
	} else {
		rc = 0;
		for (unsigned i = 0; i < n; i++)
			if (write_record(w->dir, host, &t[i], &err) < 0)
				rc = -1;
	}
	if (rc < 0)
		write_all(out, err.text, strlen(err.text));
	_exit(rc < 0 ? 1 : 0);
}

int job_record_start(struct job_record_writer *w, const char *host, const struct job_record_text *t,
		     unsigned n, struct errbuf *err)
{
	int ends[2];
	pid_t pid;

	if (w->pid > 0)
		return 1;
	if (!*host || *host == '.' || strchr(host, '/') || strlen(host) >= HOST_MAX)
		return errprintf(err,
				 "the host's name \"%.100s\" must have 1 to %d bytes, must not "
				 "begin with \".\" and must have no \"/\"",
				 host, HOST_MAX - 1);
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return errprintf(err, "pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0)
		write_records(w, ends[1], host, t, n);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return errprintf(err, "fork: %s", strerror(errno));
	}
	w->pid = pid;
	w->in = ends[0];
	w->end = monotonic_ms() + 1000L * JOB_RECORD_SECONDS;
	w->killed = false;
	return 0;
}

int job_record_poll(struct job_record_writer *w, struct errbuf *err)
{
	char text[400];
	ssize_t n;
	int status;
	pid_t got;

	if (w->pid <= 0)
		return 0;
	got = waitpid(w->pid, &status, WNOHANG);
	if (got == 0) {
		if (!w->killed && monotonic_ms() >= w->end) {
			kill(w->pid, SIGKILL);
			w->killed = true;
		}
		return 1;
	}
	n = read(w->in, text, sizeof(text) - 1);
	close(w->in);
	w->in = -1;
	w->pid = 0;
	if (w->killed)
		return errprintf(err, "%s: writing records took longer than %d s and was stopped",
				 w->dir, JOB_RECORD_SECONDS);
	if (got > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	text[n > 0 ? n : 0] = '\0';
	return errprintf(err, "%s",
			 n > 0 ? text
			       : "the process that writes records has ended without a reason");
}
