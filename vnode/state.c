/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vnode/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/conf_lines.h"
#include "base/fileio.h"
#include "base/proc.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define STATE_MAX (4 * 1024)

static const char *const phase_names[VNODE_PHASES] = {
	[VNODE_ABSENT] = "absent",   [VNODE_CREATED] = "created", [VNODE_STARTING] = "starting",
	[VNODE_RUNNING] = "running", [VNODE_MOVING] = "moving",	  [VNODE_STOPPING] = "stopping",
};

const char *vnode_phase_name(enum vnode_phase p)
{
	return (unsigned)p < VNODE_PHASES ? phase_names[p] : "unknown";
}

int vnode_run_open(const char *run_dir, struct errbuf *err)
{
	int dir = dir_open_private(run_dir, err), lock;

	if (dir < 0)
		return -1;
	/* lock the directory itself, so that one descriptor is directory and lock */
	lock = flock(dir, LOCK_EX);
	if (lock < 0) {
		errprintf(err, "%s: %s", run_dir, strerror(errno));
		close(dir);
		return -1;
	}
	return dir;
}

int vnode_dir_open(int run, const char *name, bool make, struct errbuf *err)
{
	int fd;

	if (!vnode_is_name(name, strlen(name))) {
		errno = EINVAL;
		return errprintf(err, "not the name of a vnode");
	}
	if (make && mkdirat(run, name, 0700) < 0 && errno != EEXIST)
		return errprintf(err, "%s: %s", name, strerror(errno));
	fd = openat(run, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : errprintf(err, "%s: %s", name, strerror(errno));
}

static int read_boot_id(char *out, size_t size, struct errbuf *err)
{
	return file_read_line(BOOT_ID, out, size) == 0
		       ? 0
		       : errprintf(err, "%s cannot be read", BOOT_ID);
}

static int parse_state_number(uint64_t *out, const char *value)
{
	char *end;

	if (*value < '0' || *value > '9')
		return -1;
	errno = 0;
	*out = strtoull(value, &end, 10);
	return errno || *end ? -1 : 0;
}

static int parse_state_pid(pid_t *out, const char *value)
{
	uint64_t n;

	if (parse_state_number(&n, value) < 0 || n > INT32_MAX)
		return -1;
	*out = (pid_t)n;
	return 0;
}

static int parse_state_text(char *out, size_t size, const char *value)
{
	return (size_t)snprintf(out, size, "%s", value) < size ? 0 : -1;
}

static int parse_state_phase(enum vnode_phase *out, const char *value)
{
	for (unsigned i = VNODE_CREATED; i < VNODE_PHASES; i++)
		if (strcmp(phase_names[i], value) == 0) {
			*out = i;
			return 0;
		}
	return -1;
}

/* Callback of conf_lines_each(). */
static int parse_state_pair(void *arg, unsigned line, const char *key, const char *value,
			    struct errbuf *err)
{
	struct vnode_state *s = arg;
	int rc = -1;

	if (strcmp(key, "phase") == 0)
		rc = parse_state_phase(&s->phase, value);
	else if (strcmp(key, "boot") == 0)
		rc = parse_state_text(s->boot, sizeof(s->boot), value);
	else if (strcmp(key, "pid") == 0)
		rc = parse_state_pid(&s->pid, value);
	else if (strcmp(key, "number") == 0)
		rc = parse_state_number(&s->number, value);
	else if (strcmp(key, "supervisor") == 0)
		rc = parse_state_pid(&s->supervisor, value);
	else if (strcmp(key, "supervisor_number") == 0)
		rc = parse_state_number(&s->supervisor_number, value);
	else if (strcmp(key, "cgroup") == 0)
		rc = parse_state_text(s->cgroup, sizeof(s->cgroup), value);
	else if (strcmp(key, "link") == 0)
		rc = parse_state_text(s->link, sizeof(s->link), value);
	return rc < 0 ? errprintf(err, "line %u: the value of %.64s is wrong", line, key) : 0;
}

int vnode_state_read(struct vnode_state *out, int run, const char *name, struct errbuf *err)
{
	int dir = vnode_dir_open(run, name, false, err);
	struct vnode_state s = { 0 };
	char boot[sizeof(s.boot)], *text;
	int len, rc = -1;

	*out = s;
	if (dir < 0)
		return errno == ENOENT ? 0 : -1;
	text = malloc(STATE_MAX);
	len = text ? file_read(dir, VNODE_STATE_FILE, text, STATE_MAX, err) : -1;
	if (len < 0 && text && errno == ENOENT)
		rc = 0;
	else if (len >= 0 && read_boot_id(boot, sizeof(boot), err) == 0 &&
		 conf_lines_each("state", text, (size_t)len, parse_state_pair, &s, err) == 0) {
		rc = 0;
		if (strcmp(s.boot, boot) == 0)
			*out = s;
	}
	free(text);
	close(dir);
	return rc < 0 ? errwrap(err, "state of vnode %s", name) : 0;
}

/* Write S to TEXT, of STATE_MAX bytes. Returns 0, or -1 if S does not fit. */
static int format_state(const struct vnode_state *s, const char *boot, char *text)
{
	FILE *f = fmemopen(text, STATE_MAX, "w");
	bool good;

	if (!f)
		return -1;
	fprintf(f, "phase = %s\n", vnode_phase_name(s->phase));
	fprintf(f, "boot = %s\n", boot);
	fprintf(f, "pid = %d\n", (int)s->pid);
	fprintf(f, "number = %" PRIu64 "\n", s->number);
	fprintf(f, "supervisor = %d\n", (int)s->supervisor);
	fprintf(f, "supervisor_number = %" PRIu64 "\n", s->supervisor_number);
	fprintf(f, "cgroup = %s\n", s->cgroup);
	fprintf(f, "link = %s\n", s->link);
	good = fflush(f) == 0 && !ferror(f);
	return fclose(f) == 0 && good ? 0 : -1;
}

int vnode_state_write(const struct vnode_state *s, int run, const char *name, struct errbuf *err)
{
	char boot[sizeof(s->boot)], *text;
	int dir, rc = -1;

	if (read_boot_id(boot, sizeof(boot), err) < 0)
		return -1;
	dir = vnode_dir_open(run, name, true, err);
	if (dir < 0)
		return -1;
	text = calloc(1, STATE_MAX);
	if (!text || format_state(s, boot, text) < 0)
		errprintf(err, "state of vnode %s: too long", name);
	else if (file_replace(dir, VNODE_STATE_FILE, text, 0600, err) == 0)
		rc = fsync(dir) == 0 ? 0 : errprintf(err, "%s: %s", name, strerror(errno));
	free(text);
	close(dir);
	return rc;
}

int vnode_state_remove(int run, const char *name, struct errbuf *err)
{
	int dir = vnode_dir_open(run, name, false, err);

	if (dir < 0)
		return errno == ENOENT ? 0 : -1;
	if (unlinkat(dir, VNODE_STATE_FILE, 0) < 0 && errno != ENOENT) {
		errprintf(err, "%s: %s", name, strerror(errno));
		close(dir);
		return -1;
	}
	close(dir);
	/* a directory that is not empty has files of a move, and stays */
	if (unlinkat(run, name, AT_REMOVEDIR) < 0 && errno != ENOENT && errno != ENOTEMPTY)
		return errprintf(err, "%s: %s", name, strerror(errno));
	return 0;
}

static int compare_states(const void *a, const void *b)
{
	return strverscmp(a, b);
}

int vnode_state_list(char (**out)[VNODE_NAME_MAX], unsigned *n, int run, struct errbuf *err)
{
	int fd = openat(run, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *e;

	*n = 0;
	*out = calloc(VNODES_MAX, sizeof(**out));
	if (!d || !*out) {
		free(*out);
		if (d)
			closedir(d);
		else if (fd >= 0)
			close(fd);
		return errprintf(err, "the states of vnodes cannot be read");
	}
	while (*n < VNODES_MAX && (e = readdir(d))) {
		size_t len = strlen(e->d_name);

		if (e->d_type == DT_DIR && vnode_is_name(e->d_name, len))
			memcpy((*out)[(*n)++], e->d_name, len);
	}
	closedir(d);
	qsort(*out, *n, sizeof(**out), compare_states);
	return 0;
}

bool vnode_process_lives(pid_t pid, uint64_t number)
{
	if (pid <= 0 || (kill(pid, 0) < 0 && errno == ESRCH))
		return false;
	return number == 0 || process_number(pid) == number;
}
