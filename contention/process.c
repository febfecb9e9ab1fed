/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contention/process.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fileio.h"

/* Numbers of proc_pid_stat(5) behind the name and the state, in their order. */
enum stat_field {
	STAT_PPID,
	STAT_UTIME = 10,
	STAT_STIME,
	STAT_THREADS = 16,
	STAT_START = 18,
	STAT_RSS = 20,
	STAT_POLICY = 37,
	STAT_FIELDS
};

int process_seen_parse(struct process_seen *out, const char *text)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')'), *at;
	uint64_t field[STAT_FIELDS];
	size_t len;
	char *end;

	if (!open || !close || close < open || close[1] != ' ' || !close[2])
		return -1;
	at = close + 3;
	for (int i = 0; i < STAT_FIELDS; i++) {
		field[i] = strtoull(at, &end, 10); /* a negative one becomes a large one */
		if (end == at)
			return -1;
		at = end;
	}
	memset(out, 0, sizeof(*out));
	out->pid = (pid_t)strtol(text, NULL, 10);
	out->parent = (pid_t)field[STAT_PPID];
	out->threads = (unsigned)field[STAT_THREADS];
	out->ended = (close[2] == 'Z' || close[2] == 'X') && out->threads <= 1;
	len = (size_t)(close - open - 1);
	if (len >= sizeof(out->command))
		len = sizeof(out->command) - 1;
	memcpy(out->command, open + 1, len);
	out->kept_from_exec = strcmp(out->command, "slurmstepd") == 0;
	out->start = field[STAT_START];
	out->ticks = field[STAT_UTIME] + field[STAT_STIME];
	out->pages = field[STAT_RSS] > INT64_MAX ? 0 : field[STAT_RSS];
	out->policy = (unsigned)field[STAT_POLICY];
	return 0;
}

int process_file_open(int proc_fd, pid_t pid, const char *file)
{
	char name[48];

	snprintf(name, sizeof(name), "%d/%s", (int)pid, file);
	return openat(proc_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

int process_seen_read(struct process_seen *out, int stat_fd)
{
	char text[PROCESS_STAT_MAX];
	ssize_t n = pread(stat_fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return -1;
	text[n] = '\0';
	return process_seen_parse(out, text);
}

int process_seen_look(struct process_seen *out, int proc_fd, pid_t pid)
{
	int fd = process_file_open(proc_fd, pid, "stat"), rc;

	if (fd < 0)
		return -1;
	rc = process_seen_read(out, fd);
	close(fd);
	return rc;
}

/* Read /proc/PID/status into TEXT of 8,192 bytes, and find the line that begins with WORD. No line
 * of a user's can: the name in it is escaped. */
static const char *process_status_line(char text[8192], int proc_fd, pid_t pid, const char *word)
{
	int fd = process_file_open(proc_fd, pid, "status");
	ssize_t n = fd < 0 ? -1 : read(fd, text, 8191);
	const char *line;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return NULL;
	text[n] = '\0';
	line = strstr(text, word);
	return line ? line + strlen(word) : NULL;
}

int process_owner(uid_t *uid, gid_t *gid, int proc_fd, pid_t pid)
{
	char text[8192];
	const char *line = process_status_line(text, proc_fd, pid, "\nUid:\t");
	unsigned u, g;

	if (!line || sscanf(line, "%u %*u %*u %*u Gid: %u", &u, &g) != 2)
		return -1;
	*uid = u;
	*gid = g;
	return 0;
}

bool process_proc_is_real(int proc_fd)
{
	struct statfs fs;

	return fstatfs(proc_fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* The kernel's mask is in words of unsigned long, in ours, or in halves of them in this order. */
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

int process_cpus(struct idset *out, int proc_fd, pid_t pid)
{
	char text[8192], *line;

	if (proc_fd < 0)
		return process_ask_cpus(out, pid);
	line = (char *)process_status_line(text, proc_fd, pid, "\nCpus_allowed_list:\t");
	if (!line)
		return -1;
	line[strcspn(line, "\n")] = '\0';
	return idset_parse(out, line, NULL);
}
