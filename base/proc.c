/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/monotonic.h"

#define PF_NO_SETAFFINITY 0x04000000UL /* include/linux/sched.h */
#define PIDFS_MAGIC 0x50494446 /* linux/magic.h, Linux 6.9 */
#define PIDFD_THREAD O_EXCL /* linux/pidfd.h, Linux 6.9 */
#define KTHREADD 2 /* the parent of all threads of the kernel */

#define STAT_MAX 1024 /* bytes of a /proc/PID/stat with the final NUL */

/*
 * Limits, in milliseconds, of a read that takes microseconds on an idle host. After a read has
 * hung, the second limit applies: the user may have started many processes that hang.
 */
#define LIMIT_MS 1000
#define LIMIT_AGAIN_MS 50

/* ------------------------------------------------------------------------------- status */

/* Fields of /proc/PID/status that struct process_facts does not have. */
struct proc_lines {
	bool any, has_kthread, has_memory;
	char state;
	long tgid, parent, threads;
};

/*
 * Copy the name of a process; its owner chooses it, and root's terminal shows it. The kernel
 * escapes newlines in the name, so it cannot forge another line of the status.
 */
static void proc_take_name(char *comm, size_t size, const char *text)
{
	snprintf(comm, size, "%.*s", (int)strcspn(text, "\n"), text);
	for (char *c = comm; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

static void proc_take_line(struct process_facts *out, struct proc_lines *seen, const char *line)
{
	const char *at = strstr(line, ":\t");
	size_t len = at ? (size_t)(at - line) : 0;
	long number = at ? strtol(at + 2, NULL, 10) : 0;

#define IS(word) (len == strlen(word) && memcmp(line, word, len) == 0)
	if (IS("Name")) {
		proc_take_name(out->comm, sizeof(out->comm), at + 2);
		seen->any = true;
	} else if (IS("State")) {
		seen->state = at[2];
	} else if (IS("Tgid")) {
		seen->tgid = number;
	} else if (IS("Pid")) {
		out->pid = (int)number;
	} else if (IS("PPid")) {
		seen->parent = number;
	} else if (IS("Threads")) {
		seen->threads = number;
	} else if (IS("VmSize")) {
		seen->has_memory = true;
	} else if (IS("Kthread")) {
		seen->has_kthread = true;
		out->kernel = number == 1;
	}
#undef IS
}

/*
 * For kernels without the line "Kthread" (before Linux 6.8). Kernel threads have no memory, and
 * kthreadd is their parent. kthreadd is also the parent of a program that the kernel starts, but
 * that program has memory until it ends.
 */
static bool proc_is_kernel_thread(const struct proc_lines *seen)
{
	return !seen->has_memory && (seen->tgid == KTHREADD || seen->parent == KTHREADD);
}

/* Read the status in the directory DIR of a process or thread. */
static int proc_read_status(struct process_facts *out, int dir)
{
	int fd = openat(dir, "status", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	struct proc_lines seen = { .any = false };
	char *line = NULL;
	size_t size = 0;

	memset(out, 0, sizeof(*out));
	if (!f && fd >= 0)
		close(fd);
	while (f && getline(&line, &size, f) > 0)
		proc_take_line(out, &seen, line);
	free(line);
	if (f)
		fclose(f);
	if (!seen.any || out->pid <= 0 || !seen.state || seen.threads <= 0) {
		errno = ESRCH;
		return -1;
	}
	if (!seen.has_kthread)
		out->kernel = proc_is_kernel_thread(&seen);
	out->ended = (seen.state == 'Z' || seen.state == 'X') && seen.threads <= 1;
	out->exiting = !out->kernel && !seen.has_memory && seen.threads <= 1;
	return 0;
}

/*
 * Return a descriptor of NAME's directory. The descriptor stays bound to this process: after the
 * process has ended, reads fail, even if a new process has the same pid.
 */
static int proc_open(int root, const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "proc/%.256s", name);
	return openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int process_read_facts(struct process_facts *out, int root, const char *name)
{
	int dir = proc_open(root, name);
	int rc = dir < 0 ? -1 : proc_read_status(out, dir);

	if (dir >= 0)
		close(dir);
	return rc;
}

int process_read_facts_of(struct process_facts *out, pid_t pid)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), rc;
	char name[24];

	snprintf(name, sizeof(name), "%ld", (long)pid);
	rc = root < 0 ? -1 : process_read_facts(out, root, name);
	if (root >= 0)
		close(root);
	return rc;
}

/* ----------------------------------------------------------------------------- identity */

uint64_t process_number(pid_t pid)
{
	/* Linux before 6.9 refuses this flag */
	int fd = (int)syscall(SYS_pidfd_open, pid, PIDFD_THREAD);
	struct statfs fs;
	struct stat st;
	bool is_number = fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == PIDFS_MAGIC &&
			 fstat(fd, &st) == 0;

	if (fd >= 0)
		close(fd);
	return is_number ? st.st_ino : 0;
}

static ssize_t proc_read_file(char *buf, size_t size, int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return n;
}

/* Take no lock of libc here: another thread may have held it at the fork. */
static _Noreturn void proc_read_in_child(int out, size_t size, int dir_fd, const char *name)
{
	char text[STAT_MAX];
	ssize_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* SIGKILL ends the read below even while it waits */
	n = proc_read_file(text, size < sizeof(text) ? size : sizeof(text), dir_fd, name);
	_exit(n > 0 && write(out, text, (size_t)n) == n ? 0 : 1);
}

ssize_t process_read_apart(char *buf, size_t size, int dir_fd, const char *name, unsigned limit)
{
	struct pollfd p = { .events = POLLIN };
	long end = monotonic_ms() + limit, left;
	ssize_t n = -1;
	int ends[2], rc;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		proc_read_in_child(ends[1], size, dir_fd, name);
	close(ends[1]);
	p.fd = ends[0];
	do {
		left = end - monotonic_ms();
		rc = pid < 0 ? -1 : poll(&p, 1, left > 0 ? (int)left : 0);
	} while (pid > 0 && rc < 0 && errno == EINTR);
	if (rc > 0)
		n = read(ends[0], buf, size - 1);
	close(ends[0]);
	if (pid > 0) {
		kill(pid, SIGKILL); /* the only signal that ends the wait */
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	buf[n > 0 ? n : 0] = '\0';
	errno = rc == 0 ? ETIME : ESRCH;
	return n > 0 ? n : -1;
}

/* Take the flags and the start time from the text of a /proc/PID/stat. */
static int proc_parse_stat(struct process_facts *out, const char *text)
{
	/* only the name may contain blanks and brackets */
	const char *close = strrchr(text, ')');
	unsigned long long start;
	unsigned long flags;

	if (!close || sscanf(close + 1,
			     " %*c %*d %*d %*d %*d %*d %lu %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			     "%*d %*d %*d %llu",
			     &flags, &start) != 2) {
		errno = ESRCH;
		return -1;
	}
	out->pinned = out->kernel && (flags & PF_NO_SETAFFINITY);
	out->number = start;
	return 0;
}

/*
 * Only the stat of a user's process can be slow to read: kernel threads have no address space, and
 * the tree of a test has plain files.
 */
static int proc_read_stat(struct process_facts *out, int dir, bool may_wait)
{
	static bool has_waited;
	char text[STAT_MAX];
	ssize_t n;

	if (!may_wait) {
		n = proc_read_file(text, sizeof(text), dir, "stat");
	} else {
		n = process_read_apart(text, sizeof(text), dir, "stat",
				       has_waited ? LIMIT_AGAIN_MS : LIMIT_MS);
		has_waited = has_waited || (n < 0 && errno == ETIME);
	}
	return n < 0 ? -1 : proc_parse_stat(out, text);
}

int process_identify(struct process_facts *out, int root, const char *name)
{
	int dir = proc_open(root, name), rc = dir < 0 ? -1 : proc_read_status(out, dir), error;
	struct statfs fs;
	bool real = rc == 0 && fstatfs(dir, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;

	if (rc == 0 && real && !out->kernel)
		out->number = process_number(out->pid);
	if (rc == 0 && !out->number)
		rc = proc_read_stat(out, dir, real && !out->kernel);
	else if (rc == 0 && faccessat(dir, "status", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		rc = -1; /* the process has ended, and another one may have its pid now */
	error = errno;
	if (dir >= 0)
		close(dir);
	errno = error;
	return rc;
}

/* ------------------------------------------------------------------------------- cgroup */

int process_cgroup(char *buf, size_t size, int root, const char *name)
{
	char path[300], text[8192];
	struct errbuf ignored;
	const char *at;

	snprintf(path, sizeof(path), "proc/%.256s/cgroup", name);
	if (file_read(root, path, text, sizeof(text), &ignored) < 0)
		return -1;
	at = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
	if (!at)
		return -1;
	at = strchr(at, '/');
	snprintf(buf, size, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
	for (char *c = buf; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?'; /* the user may choose any name for the cgroup */
	return *buf ? 0 : -1;
}

int process_cgroup_of(char *buf, size_t size, pid_t pid)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), rc;
	char name[24];

	snprintf(name, sizeof(name), "%ld", (long)pid);
	rc = root < 0 ? -1 : process_cgroup(buf, size, root, name);
	if (root >= 0)
		close(root);
	if (rc == 0 && *buf == '/')
		memmove(buf, buf + 1, strlen(buf));
	return rc;
}
