/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contention/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/proc.h"

/*
 * bytes of a /proc/PID/status with the final NUL: the list of a user's groups, which may be
 * thousands, comes before the lines that are needed
 */
#define STATUS_MAX 65536
#define TICKS_NS (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK))

/*
 * Indices of numbers in /proc/PID/stat (proc_pid_stat(5)), from 0 for the number after the state.
 */
enum stat_field { STAT_UTIME = 10, STAT_STIME, STAT_START = 18, STAT_POLICY = 37, STAT_FIELDS };

/*
 * ------------------------------------------------ the file "stat", read in a test's tree and
 * before Linux 6.9
 */

static int process_file_open(int proc_fd, pid_t pid, const char *file)
{
	char name[48];

	snprintf(name, sizeof(name), "%d/%s", (int)pid, file);
	return openat(proc_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

/* Read the numbers of /proc/PID/stat. Returns 0, or -1 if there is no such file. */
static int process_stat_fields(uint64_t field[STAT_FIELDS], int proc_fd, pid_t pid)
{
	int fd = process_file_open(proc_fd, pid, "stat");
	char text[PROCESS_TEXT_MAX], *at, *end;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	at = strrchr(text, ')');
	if (!at || at[1] != ' ' || !at[2])
		return -1;
	at += 3;
	for (int i = 0; i < STAT_FIELDS; i++) {
		field[i] = strtoull(at, &end,
				    10); /* strtoull() turns a negative number into a large one */
		if (end == at)
			return -1;
		at = end;
	}
	return 0;
}

static uint64_t process_stat_field(int proc_fd, pid_t pid, enum stat_field which)
{
	uint64_t field[STAT_FIELDS];

	return process_stat_fields(field, proc_fd, pid) < 0 ? 0 : field[which];
}

/* ------------------------------------------------------------------- system calls */

/*
 * Return the clock of a process as clock_getcpuclockid() does (include/linux/posix-timers_types.h).
 */
static clockid_t process_clock(pid_t pid)
{
	return (clockid_t)(~(unsigned)pid << 3 | 2);
}

static int process_ticks(uint64_t *ticks, pid_t pid)
{
	struct timespec t;

	if (clock_gettime(process_clock(pid), &t) < 0)
		return -1;
	*ticks = ((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec) / TICKS_NS;
	return 0;
}

void process_source_open(struct process_source *out, int proc_fd)
{
	struct statfs fs;

	*out = (struct process_source){ .fd = proc_fd };
	out->real = fstatfs(proc_fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
	out->numbered = out->real && process_number(getpid()) != 0;
}

/* ------------------------------------------------------------------------------- status */

/*
 * Return the text in TEXT after WORD, which is a newline, a name, a colon and a tab, such as
 * "\nPid:\t". A user cannot forge such a line: the kernel escapes newlines in the name of a
 * process.
 */
static const char *process_line(const char *text, const char *word)
{
	const char *line = strstr(text, word);

	return line ? line + strlen(word) : NULL;
}

static uint64_t process_line_number(const char *text, const char *word)
{
	const char *at = process_line(text, word);

	return at ? strtoull(at, NULL, 10) : 0;
}

/*
 * Undo the kernel's escapes in a name: a backslash with an "n" becomes a newline, two backslashes
 * become one.
 */
static const char *process_take_name(char name[OBSERVED_COMMAND_MAX], const char *text)
{
	size_t len = 0;

	for (; *text && *text != '\n'; text++) {
		char c = *text;

		if (c == '\\' && text[1]) {
			c = *++text;
			if (c == 'n')
				c = '\n';
		}
		if (len < OBSERVED_COMMAND_MAX - 1)
			name[len++] = c;
	}
	name[len] = '\0';
	return text;
}

int process_seen_parse(struct process_seen *out, const char *text)
{
	static const char name[] = "Name:\t";
	const char *rest, *state, *parent;

	memset(out, 0, sizeof(*out));
	if (strncmp(text, name, strlen(name)) != 0)
		return -1;
	rest = process_take_name(out->command, text + strlen(name));
	state = process_line(rest, "\nState:\t");
	parent = process_line(rest, "\nPPid:\t");
	out->pid = (pid_t)process_line_number(rest, "\nPid:\t");
	out->threads = (unsigned)process_line_number(rest, "\nThreads:\t");
	if (!state || !parent || !out->pid || !out->threads)
		return -1;
	out->parent = (pid_t)strtol(parent, NULL, 10);
	out->ended = (*state == 'Z' || *state == 'X') && out->threads <= 1;
	out->kept_from_exec = strcmp(out->command, "slurmstepd") == 0;
	out->memory = 1024 * process_line_number(rest, "\nVmRSS:\t");
	return 0;
}

/* Read an open file of a process from its start. Returns 0, or -1 if the process has ended. */
static int process_text(char text[STATUS_MAX], int fd)
{
	ssize_t n = pread(fd, text, STATUS_MAX - 1, 0);

	if (n <= 0)
		return -1;
	text[n] = '\0';
	return 0;
}

int process_seen_again(struct process_seen *out, const struct process_source *from, pid_t pid,
		       uint64_t start, int status_fd)
{
	uint64_t field[STAT_FIELDS], ticks;
	char text[STATUS_MAX];

	if (!from->real) {
		if (process_stat_fields(field, from->fd, pid) < 0)
			return -1;
		start = field[STAT_START];
		ticks = field[STAT_UTIME] + field[STAT_STIME];
	} else if (process_ticks(&ticks, pid) < 0) {
		return -1;
	}
	/* PID was this process during the other reads if its status can still be read */
	if (process_text(text, status_fd) < 0 || process_seen_parse(out, text) < 0)
		return -1;
	out->start = start;
	out->ticks = ticks;
	return 0;
}

uint64_t process_start(const struct process_source *from, pid_t pid)
{
	return from->numbered ? process_number(pid) : process_stat_field(from->fd, pid, STAT_START);
}

int process_seen_open(struct process_seen *out, const struct process_source *from, pid_t pid)
{
	int fd = process_file_open(from->fd, pid, "status"), error;
	uint64_t start;

	if (fd < 0)
		return -1;
	start = process_start(from, pid);
	if (start && process_seen_again(out, from, pid, start, fd) == 0)
		return fd;
	error = errno == EMFILE || errno == ENFILE ? errno : ESRCH;
	close(fd);
	errno = error;
	return -1;
}

int process_seen_read(struct process_seen *out, const struct process_source *from, pid_t pid)
{
	int fd = process_seen_open(out, from, pid);

	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

int process_policy(const struct process_source *from, pid_t pid)
{
	if (from->real)
		return sched_getscheduler(pid) & ~SCHED_RESET_ON_FORK;
	return (int)process_stat_field(from->fd, pid, STAT_POLICY);
}

bool process_is_stopped(int proc_fd, pid_t pid)
{
	int fd = process_file_open(proc_fd, pid, "status");
	char text[STATUS_MAX];
	const char *state;
	int rc = fd < 0 ? -1 : process_text(text, fd);

	if (fd >= 0)
		close(fd);
	state = rc < 0 ? NULL : process_line(text, "\nState:\t");
	errno = rc < 0 ? ESRCH : 0;
	return state && (*state == 'T' || *state == 't');
}

bool process_is_frozen(int proc_fd, int cgroup_fd, pid_t pid)
{
	char text[STATUS_MAX], path[STATUS_MAX + 16];
	int fd = process_file_open(proc_fd, pid, "cgroup");
	int rc = fd < 0 ? -1 : process_text(text, fd);
	const char *line;

	if (fd >= 0)
		close(fd);
	if (rc < 0)
		return false;
	line = strncmp(text, "0::/", 4) == 0 ? text + 4 : process_line(text, "\n0::/");
	if (!line)
		return false;
	snprintf(path, sizeof(path), "%.*s/cgroup.events", (int)strcspn(line, "\n"), line);
	fd = openat(cgroup_fd, *path == '/' ? path + 1 : path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	rc = fd < 0 ? -1 : process_text(text, fd);
	if (fd >= 0)
		close(fd);
	return rc == 0 && strstr(text, "frozen 1\n");
}

/* Read /proc/PID/status into TEXT. Returns the text after WORD, or NULL if WORD is missing. */
static char *process_status_line(char text[STATUS_MAX], int proc_fd, pid_t pid, const char *word)
{
	int fd = process_file_open(proc_fd, pid, "status");
	int rc = fd < 0 ? -1 : process_text(text, fd);

	if (fd >= 0)
		close(fd);
	return rc < 0 ? NULL : (char *)process_line(text, word);
}

int process_owner(uid_t *uid, gid_t *gid, int proc_fd, pid_t pid)
{
	char text[STATUS_MAX];
	const char *line = process_status_line(text, proc_fd, pid, "\nUid:\t");
	unsigned u, g;

	if (!line || sscanf(line, "%u %*u %*u %*u Gid: %u", &u, &g) != 2)
		return -1;
	*uid = u;
	*gid = g;
	return 0;
}

/*
 * The kernel's mask consists of unsigned longs, struct idset of words of 64 bits. Both have the
 * same bytes if long has 64 bits or the machine is little-endian.
 */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ && __SIZEOF_LONG__ != 8
#error "struct idset has words of 64 bits"
#endif

static int process_ask_cpus(struct idset *out, pid_t pid)
{
	cpu_set_t set[IDSET_MAX / CPU_SETSIZE];

	_Static_assert(sizeof(set) == sizeof(out->word), "one bit for each CPU");
	memset(set, 0, sizeof(set));
	if (sched_getaffinity(pid, sizeof(set), set) < 0)
		return -1;
	memcpy(out->word, set, sizeof(out->word));
	return 0;
}

/* Get the CPUs of thread ID, whose directory is in FD. */
static int process_thread_cpus(struct idset *out, bool real, int fd, pid_t id)
{
	char text[STATUS_MAX], *line;

	if (real)
		return process_ask_cpus(out, id);
	line = process_status_line(text, fd, id, "\nCpus_allowed_list:\t");
	if (!line)
		return -1;
	line[strcspn(line, "\n")] = '\0';
	return idset_parse(out, line, NULL);
}

int process_cpus(struct idset *out, bool *differ, const struct process_source *from, pid_t pid,
		 unsigned threads)
{
	struct idset first, cpus;
	struct dirent *e;
	int fd = -1;
	DIR *d;

	*differ = false;
	if (process_thread_cpus(&first, from->real, from->fd, pid) < 0)
		return -1;
	*out = first;
	if (threads > 1)
		fd = process_file_open(from->fd, pid, "task");
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	for (unsigned n = 0; n < PROCESS_THREADS_ASKED && (e = readdir(d)); n++) {
		pid_t id = (pid_t)strtol(e->d_name, NULL, 10);

		if (id <= 0 || id == pid ||
		    process_thread_cpus(&cpus, from->real, dirfd(d), id) < 0)
			continue;
		*differ = *differ || !idset_equal(&cpus, &first);
		idset_or(out, &cpus);
	}
	closedir(d);
	return 0;
}
