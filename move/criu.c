/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "move/criu.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/monotonic.h"
#include "base/program.h"
#include "base/subprocess.h"
#include "move/gate.h"

#define WORDS_MAX 64 /* words of a command */
#define WORD_MAX 512 /* bytes of a word with the final NUL */
/* maximum size in bytes of an unlinked open file that CRIU puts into the image */
#define GHOST_LIMIT "268435456"
#define LOG_TAIL 65536 /* bytes at the end of CRIU's log that are searched for its error */

struct command {
	char word[WORDS_MAX][WORD_MAX];
	const char *argv[WORDS_MAX + 1];
	unsigned n;
	bool full;
};

static void add_criu_word(struct command *c, const char *a, const char *b)
{
	if (c->n == WORDS_MAX || snprintf(c->word[c->n], WORD_MAX, "%s%s", a, b) >= WORD_MAX) {
		c->full = true;
		return;
	}
	c->argv[c->n] = c->word[c->n];
	c->argv[++c->n] = NULL;
}

/* Add options for the mounts that the vnode shares with its hosts; the mount point is the key. */
static void add_externals(struct command *c, const char *shared)
{
	char path[WORD_MAX / 3], word[WORD_MAX];

	for (const char *at = shared; *at;) {
		size_t n = strcspn(at, " ");

		if (n && n < sizeof(path)) {
			memcpy(path, at, n);
			path[n] = '\0';
			snprintf(word, sizeof(word), "mnt[%s]:%s", path, path);
			add_criu_word(c, "--external", "");
			add_criu_word(c, word, "");
		} else if (n) {
			c->full = true;
		}
		at += n + (at[n] != '\0');
	}
}

static void add_common(struct command *c, const struct criu_run *r, const char *log)
{
	add_criu_word(c, "--images-dir", "");
	add_criu_word(c, r->images, "");
	add_criu_word(c, "-v2", "");
	add_criu_word(c, "--log-file", "");
	add_criu_word(c, log, "");
	add_criu_word(c, "--tcp-established", "");
	add_criu_word(c, "--network-lock", "");
	add_criu_word(c, "nftables", "");
	add_criu_word(c, "--manage-cgroups=ignore", "");
	add_criu_word(c, "--file-locks", "");
	add_criu_word(c, "--action-script", "");
	add_criu_word(c, NODEOS_LIBEXECDIR "/nodeos-vnode-gate", "");
}

/* Runs in the child, which becomes CRIU. */
static void exec_command(const struct command *c, const struct criu_run *r)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct sigaction ignore = { .sa_handler = SIG_DFL };
	sigset_t none;

	sigemptyset(&none);
	sigaction(SIGPIPE, &ignore, NULL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	fcntl(r->hold, F_SETFD, 0);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	clearenv();
	setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
	for (unsigned i = 0; r->env && r->env[i]; i++)
		putenv((char *)r->env[i]);
	if (chdir("/") == 0)
		execv(c->argv[0], (char *const *)c->argv);
	_exit(127);
}

/* Find criu, and begin its command C. */
static int begin_command(struct command *c, const char *verb, struct errbuf *err)
{
	static char path[PROGRAM_PATH_MAX];

	memset(c, 0, sizeof(*c));
	if (!program_find("criu", path))
		return errprintf(err,
				 "criu is not installed on this host: install the package criu");
	add_criu_word(c, path, "");
	add_criu_word(c, verb, "");
	return 0;
}

pid_t move_criu_dump(const struct criu_run *r, struct errbuf *err)
{
	struct command c;
	char number[16];
	pid_t pid;

	if (begin_command(&c, "dump", err) < 0)
		return -1;
	add_common(&c, r, "dump.log");
	snprintf(number, sizeof(number), "%d", r->init);
	add_criu_word(&c, "--tree", "");
	add_criu_word(&c, number, "");
	add_criu_word(&c, "--ghost-limit", "");
	add_criu_word(&c, GHOST_LIMIT, "");
	add_criu_word(&c, "--timeout", "");
	add_criu_word(&c, "30", "");
	add_externals(&c, r->shared);
	if (c.full)
		return errprintf(err, "criu: too many words in its command");
	pid = fork();
	if (pid == 0)
		exec_command(&c, r);
	return pid < 0 ? errprintf(err, "criu: %s", strerror(errno)) : pid;
}

/*
 * Move the caller, which becomes CRIU, to the vnode's cgroup, so that CRIU's first pages belong
 * there.
 */
static int enter_cgroup(const char *path)
{
	char file[4096];
	int fd, rc;

	if (!*path)
		return 0;
	snprintf(file, sizeof(file), "/sys/fs/cgroup/%s/cgroup.procs", path);
	fd = open(file, O_WRONLY | O_CLOEXEC);
	rc = fd < 0 || write(fd, "0", 1) != 1 ? -1 : 0;
	if (fd >= 0)
		close(fd);
	return rc;
}

/*
 * Make a mount namespace in which this host's root is mounted read-only at ROOT, the vnode's root.
 */
static int make_root(const char *root)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("/", root, NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, root, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0)
		return -1;
	return 0;
}

pid_t move_criu_restore(const struct criu_run *r, struct errbuf *err)
{
	char veth[WORD_MAX];
	struct command c;
	pid_t pid;

	if (begin_command(&c, "restore", err) < 0)
		return -1;
	add_common(&c, r, "restore.log");
	add_criu_word(&c, "--restore-detached", "");
	add_criu_word(&c, "--root", "");
	add_criu_word(&c, r->root, "");
	add_externals(&c, r->shared);
	if (*r->link) {
		snprintf(veth, sizeof(veth), "veth[eth0]:%s@%s", r->link, r->bridge);
		add_criu_word(&c, "--external", "");
		add_criu_word(&c, veth, "");
	}
	if (c.full)
		return errprintf(err, "criu: too many words in its command");
	pid = fork();
	if (pid == 0) {
		if (enter_cgroup(r->cgroup) < 0 || make_root(r->root) < 0)
			_exit(126);
		exec_command(&c, r);
	}
	return pid < 0 ? errprintf(err, "criu: %s", strerror(errno)) : pid;
}

/*
 * Write the first two errors of TEXT, a log of CRIU, to ERR, without time and file. The first error
 * causes the others, and the second often has the path. Errors of criu/util.c come from programs
 * that CRIU tries, such as iptables; they count only with UTIL. Returns whether there is an error.
 */
static bool find_errors(const char *text, bool util, struct errbuf *err)
{
	static const char mark[] = "Error (", of_util[] = "Error (criu/util.c:";
	unsigned n = 0;

	for (const char *at = text; n < 2 && (at = strstr(at, mark)); at++) {
		const char *words = strstr(at, "): ");
		int len;

		if (!words || (!util && strncmp(at, of_util, strlen(of_util)) == 0))
			continue;
		words += 3;
		len = (int)strcspn(words, "\n");
		if (n++ == 0)
			errprintf(err, "criu: %.*s", len, words);
		else
			errappend(err, "; %.*s", len, words);
	}
	return n > 0;
}

static void find_error(int images, const char *log, struct errbuf *err)
{
	static char text[LOG_TAIL + 1];
	int fd = openat(images, log, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	ssize_t n;

	if (fd < 0)
		return;
	n = pread(fd, text, LOG_TAIL, size > LOG_TAIL ? size - LOG_TAIL : 0);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	if (!find_errors(text, false, err))
		(void)find_errors(text, true, err);
}

int move_criu_report(int status, int images, const char *log, struct errbuf *err)
{
	char reason[sizeof(err->text)];

	errprintf(err, "criu ended with status %d", status);
	if (file_read(images, GATE_REASON, reason, sizeof(reason), NULL) > 0)
		errprintf(err, "%s", reason);
	else
		find_error(images, log, err);
	return -1;
}

int move_criu_wait_held(pid_t *pid, int images, const char *log, unsigned seconds,
			struct errbuf *err)
{
	long end = monotonic_ms() + 1000l * seconds;
	int status;

	for (;;) {
		if (faccessat(images, GATE_HELD, F_OK, 0) == 0)
			return 0;
		if (waitpid(*pid, &status, WNOHANG) == *pid) {
			*pid = 0;
			return move_criu_report(WIFEXITED(status) ? WEXITSTATUS(status) : -1,
						images, log, err);
		}
		if (monotonic_ms() > end)
			return errprintf(err, "criu has not finished within %u s", seconds);
		usleep(GATE_TURN_MS * 1000);
	}
}

int move_criu_wait_end(pid_t *pid, unsigned seconds, struct errbuf *err)
{
	long end = monotonic_ms() + 1000l * seconds;
	int status;

	while (waitpid(*pid, &status, WNOHANG) != *pid) {
		if (monotonic_ms() > end)
			return errprintf(err, "criu has not ended within %u s", seconds);
		usleep(GATE_TURN_MS * 1000);
	}
	*pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int move_criu_probe(char version[MOVE_VERSION_MAX], struct errbuf *err)
{
	char path[PROGRAM_PATH_MAX], *out = NULL;
	const char *argv[] = { path, "--version", NULL };
	struct subprocess p = { .argv = argv,
				.uid = (uid_t)-1,
				.gid = (gid_t)-1,
				.extra_fd = -1,
				.timeout = 10,
				.output_max = 4096 };
	struct utsname u;
	int rc;

	if (!program_find("criu", path))
		return errprintf(err,
				 "criu is not installed on this host: install the package criu");
	rc = subprocess_run(&p, &out, err);
	if (rc < 0)
		return -1;
	rc = move_criu_version(version, out, err);
	free(out);
	if (rc < 0 || uname(&u) < 0)
		return -1;
	return move_criu_check(version, u.release, err);
}
