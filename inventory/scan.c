/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inventory/scan.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/monotonic.h"

#define DEPTH_MAX 4096 /* generations of processes */
#define PATH_SIZE 4128 /* bytes of a path in /proc, with " (deleted)" and the final NUL */

/* One mount of the process that is scanned: fields of /proc/PID/mountinfo. */
struct mount {
	unsigned long id;
	enum move_place place;
	char *point;
};

struct scanner {
	struct move_record *r;
	struct move_scan *s;
	struct errbuf *err;
	int dir; /* /proc/PID */
	int pid; /* in the vnode */
	uid_t uid;
	struct mount *mount;
	size_t mounts;
};

/* Call EACH for the children of thread TID of process PID. */
static int each_child(pid_t pid, const char *tid, unsigned depth,
		      int (*each)(pid_t, void *, unsigned), void *arg)
{
	char name[96];
	FILE *f;
	int child, rc = 0;

	snprintf(name, sizeof(name), "/proc/%d/task/%.20s/children", pid, tid);
	f = fopen(name, "re");
	if (!f)
		return errno == ENOENT ? 0 : -1;
	while (rc == 0 && fscanf(f, "%d", &child) == 1)
		rc = each(child, arg, depth + 1);
	fclose(f);
	return rc;
}

struct walk {
	int (*each)(pid_t pid, void *arg);
	void *arg;
};

static int walk_tree(pid_t pid, void *arg, unsigned depth)
{
	struct walk *w = arg;
	char name[64];
	struct dirent *d;
	DIR *tasks;
	int rc;

	if (depth > DEPTH_MAX) {
		errno = ELOOP;
		return -1;
	}
	rc = w->each(pid, w->arg);
	if (rc != 0)
		return rc;
	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	tasks = opendir(name);
	if (!tasks)
		return 0; /* the thread has ended */
	while (rc == 0 && (d = readdir(tasks)))
		if (isdigit((unsigned char)d->d_name[0]))
			rc = each_child(pid, d->d_name, depth, walk_tree, w);
	closedir(tasks);
	return rc;
}

int move_tree_each(pid_t init, int (*each)(pid_t pid, void *arg), void *arg)
{
	struct walk w = { each, arg };

	return walk_tree(init, &w, 0);
}

static enum move_place place_of_mount(const struct move_scan *s, const char *point,
				      const char *type)
{
	static const char *const own[] = { "tmpfs",  "proc",	"sysfs", "devpts",
					   "mqueue", "cgroup2", NULL };

	for (unsigned i = 0; i < s->n; i++)
		if (strcmp(s->shared[i], point) == 0)
			return MOVE_SHARED;
	for (size_t i = 0; own[i]; i++)
		if (strcmp(own[i], type) == 0)
			return MOVE_OWN;
	return MOVE_HOST;
}

static void free_mounts(struct scanner *c)
{
	for (size_t i = 0; i < c->mounts; i++)
		free(c->mount[i].point);
	free(c->mount);
	c->mount = NULL;
	c->mounts = 0;
}

/* "\040" in mountinfo is a blank. */
static void unescape_point(char *text)
{
	char *to = text;

	for (; *text; text++)
		if (*text == '\\' && strspn(text + 1, "01234567") >= 3) {
			*to++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0');
			text += 3;
		} else {
			*to++ = *text;
		}
	*to = '\0';
}

/* Read the mounts of the process. Returns 0 or -1. */
static int read_mounts(struct scanner *c)
{
	int fd = openat(c->dir, "mountinfo", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL;
	size_t size = 0;

	if (!f) {
		if (fd >= 0)
			close(fd);
		return errprintf(c->err, "mountinfo: %s", strerror(errno));
	}
	while (getline(&line, &size, f) > 0) {
		char point[PATH_SIZE], type[64];
		unsigned long id;
		const char *dash = strstr(line, " - ");
		struct mount *more;

		if (!dash || sscanf(line, "%lu %*u %*s %*s %4127s", &id, point) != 2 ||
		    sscanf(dash, " - %63s", type) != 1)
			continue;
		more = realloc(c->mount, (c->mounts + 1) * sizeof(*more));
		if (!more)
			break;
		c->mount = more;
		unescape_point(point);
		more[c->mounts].id = id;
		more[c->mounts].place = place_of_mount(c->s, point, type);
		more[c->mounts].point = strdup(point);
		if (!more[c->mounts].point)
			break;
		c->mounts++;
	}
	free(line);
	fclose(f);
	return c->mounts ? 0 : errprintf(c->err, "mountinfo: cannot be read");
}

/* Cut " (deleted)" off the end of PATH. Returns whether it was there. */
static bool cut_deleted(char *path)
{
	static const char mark[] = " (deleted)";
	size_t n = strlen(path), m = sizeof(mark) - 1;

	if (n <= m || strcmp(path + n - m, mark) != 0)
		return false;
	path[n - m] = '\0';
	return true;
}

/*
 * Record where the link NAME in /proc/PID leads. A file that has gone meanwhile is left out, and so
 * is a link that the process does not have.
 */
static int add_link(struct scanner *c, const char *name, struct move_file *e)
{
	char path[PATH_SIZE];
	ssize_t n = readlinkat(c->dir, name, path, sizeof(path) - 1);
	struct statx st;

	if (n < 0 && (errno == ENOENT || errno == ESRCH))
		return 0;
	if (n < 0 || n == sizeof(path) - 1 ||
	    statx(c->dir, name, 0, STATX_BASIC_STATS | STATX_MNT_ID, &st) < 0)
		return errprintf(c->err, "process %d: %s: %s", c->pid, name,
				 n < 0 || n < (ssize_t)sizeof(path) - 1 ? strerror(errno)
									: "path too long");
	path[n] = '\0';
	e->pid = c->pid;
	e->inode = st.stx_ino;
	e->size = S_ISREG(st.stx_mode) ? st.stx_size : 0;
	e->mode = st.stx_mode;
	e->uid = st.stx_uid;
	e->device = S_ISCHR(st.stx_mode) || S_ISBLK(st.stx_mode)
			    ? (uint64_t)st.stx_rdev_major << 8 | st.stx_rdev_minor
			    : 0;
	e->place = MOVE_NOWHERE;
	e->mount = (char *)"";
	for (size_t i = 0; i < c->mounts; i++)
		if (c->mount[i].id == st.stx_mnt_id && path[0] == '/') {
			e->place = c->mount[i].place;
			e->mount = c->mount[i].point;
		}
	if (e->place != MOVE_NOWHERE)
		e->deleted = cut_deleted(path) || st.stx_nlink == 0;
	e->path = path;
	return move_record_add_file(c->r, e, c->err);
}

/* Read the open flags of descriptor NAME (octal in fdinfo). */
static unsigned read_flags(struct scanner *c, const char *name)
{
	char text[4096], path[64];
	unsigned flags = 0;
	const char *at;

	snprintf(path, sizeof(path), "fdinfo/%s", name);
	if (file_read(c->dir, path, text, sizeof(text), NULL) < 0)
		return 0;
	at = strstr(text, "flags:");
	if (at)
		sscanf(at, "flags: %o", &flags);
	return flags;
}

/*
 * Open the directory NAME of the process. Returns 0, with *OUT NULL if the process has ended; -1,
 * with *OUT NULL and the reason in C's errbuf.
 */
static int open_list(DIR **out, struct scanner *c, const char *name)
{
	int fd = openat(c->dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), why;

	*out = fd < 0 ? NULL : fdopendir(fd);
	if (*out)
		return 0;
	why = errno;
	if (fd >= 0)
		close(fd);
	return why == ENOENT || why == ESRCH
		       ? 0
		       : errprintf(c->err, "process %d: %s: %s", c->pid, name, strerror(why));
}

static int scan_descriptors(struct scanner *c)
{
	struct dirent *d;
	DIR *dir;
	int rc = open_list(&dir, c, "fd");

	if (!dir)
		return rc;
	while (rc == 0 && (d = readdir(dir))) {
		struct move_file e = { .what = MOVE_FD };
		char name[64];

		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		snprintf(name, sizeof(name), "fd/%.20s", d->d_name);
		e.at = strtoul(d->d_name, NULL, 10);
		e.flags = read_flags(c, d->d_name);
		rc = add_link(c, name, &e);
	}
	closedir(dir);
	return rc;
}

/* Record the mapped files: the links in map_files, whose names are the address ranges in maps. */
static int scan_mappings(struct scanner *c)
{
	struct dirent *d;
	DIR *dir;
	int rc = open_list(&dir, c, "map_files");

	if (!dir)
		return rc;
	while (rc == 0 && (d = readdir(dir))) {
		struct move_file e = { .what = MOVE_MAP };
		char name[96];

		if (!isxdigit((unsigned char)d->d_name[0]))
			continue;
		snprintf(name, sizeof(name), "map_files/%.40s", d->d_name);
		if (sscanf(d->d_name, "%" SCNx64 "-%" SCNx64, &e.at, &e.end) != 2)
			continue;
		rc = add_link(c, name, &e);
	}
	closedir(dir);
	return rc;
}

/* Read the last number of the line KEY of TEXT, as in "NSpid:\t120\t7": the number in the innermost
 * namespace. Returns 0 or -1. */
static int last_number(const char *text, const char *key, int *out)
{
	const char *at = strstr(text, key), *end;
	char line[256];

	if (!at)
		return -1;
	end = strchr(++at, '\n');
	if (!end || (size_t)(end - at) >= sizeof(line))
		return -1;
	memcpy(line, at, (size_t)(end - at));
	line[end - at] = '\0';
	return sscanf(strrchr(line, '\t') ? strrchr(line, '\t') : "", "%d", out) == 1 ? 0 : -1;
}

static int scan_thread(struct scanner *c, const char *tid)
{
	struct move_thread t = { .pid = c->pid, .uid = c->uid };
	char name[64], text[8192];
	struct sched_param param;
	cpu_set_t *set = CPU_ALLOC(IDSET_MAX);
	pid_t id = (pid_t)strtol(tid, NULL, 10);
	size_t size = CPU_ALLOC_SIZE(IDSET_MAX);
	int policy;

	if (!set)
		return errprintf(c->err, "%s", strerror(ENOMEM));
	snprintf(name, sizeof(name), "task/%.20s/status", tid);
	CPU_ZERO_S(size, set);
	policy = sched_getscheduler(id);
	if (policy < 0 || sched_getparam(id, &param) < 0 || sched_getaffinity(id, size, set) < 0 ||
	    file_read(c->dir, name, text, sizeof(text), NULL) < 0 ||
	    last_number(text, "\nNSpid:", &t.tid) < 0) {
		CPU_FREE(set);
		return 0; /* the thread has ended */
	}
	t.policy = (unsigned)policy & ~(unsigned)SCHED_RESET_ON_FORK;
	t.priority = param.sched_priority;
	errno = 0;
	t.nice = getpriority(PRIO_PROCESS, (id_t)id);
	for (unsigned cpu = 0; cpu < IDSET_MAX; cpu++)
		if (CPU_ISSET_S(cpu, size, set))
			idset_add(&t.cpus, cpu);
	CPU_FREE(set);
	return move_record_add_thread(c->r, &t, c->err);
}

static int scan_threads(struct scanner *c)
{
	int fd = openat(c->dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (rc == 0 && (d = readdir(dir)))
		if (isdigit((unsigned char)d->d_name[0]))
			rc = scan_thread(c, d->d_name);
	closedir(dir);
	return rc;
}

/* Open the file NAME of the process. Returns NULL: there is none. */
static FILE *open_text(struct scanner *c, const char *name)
{
	int fd = openat(c->dir, name, O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f && fd >= 0)
		close(fd);
	return f;
}

/*
 * Record the policy of the process itself, which numa_maps shows for the stack, a mapping without a
 * policy of its own. Threads begin with this policy, and are recorded as if they still had it.
 */
static int scan_own_policy(struct scanner *c, char own[128])
{
	FILE *f = open_text(c, "numa_maps");
	char *line = NULL, word[128];
	size_t size = 0;

	strcpy(own, "default");
	while (f && getline(&line, &size, f) > 0)
		if (strstr(line, " stack ") && sscanf(line, "%*x %127s", word) == 1)
			strcpy(own, word);
	free(line);
	if (f)
		fclose(f);
	if (strcmp(own, "default") == 0)
		return 0;
	return move_record_add_policy(c->r, &(struct move_mempolicy){ .pid = c->pid, .word = own },
				      c->err);
}

/* Return the end of the mapping that begins at AT; 0: there is none. MAPS, a file, is read on from
 * its present line. */
static uint64_t find_end(FILE *maps, uint64_t at)
{
	uint64_t from = 0, to = 0;
	char line[8192];

	while (from < at && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) != 2)
			from = 0;
	return from == at ? to : 0;
}

/* Record memory policies other than the default, from the lines "ADDRESS POLICY ..." of numa_maps.
 * The kernel shows the policy of the process for mappings without one. */
static int scan_policies(struct scanner *c)
{
	FILE *f = open_text(c, "numa_maps"), *maps = open_text(c, "maps");
	char *line = NULL, own[128];
	size_t size = 0;
	int rc = f && maps ? scan_own_policy(c, own) : 0;

	while (f && maps && rc == 0 && getline(&line, &size, f) > 0) {
		struct move_mempolicy p = { .pid = c->pid };
		char word[128];

		if (sscanf(line, "%" SCNx64 " %127s", &p.at, word) != 2 ||
		    strcmp(word, "default") == 0 || strcmp(word, own) == 0)
			continue;
		p.word = word;
		p.end = find_end(maps, p.at);
		if (p.end)
			rc = move_record_add_policy(c->r, &p, c->err);
	}
	free(line);
	if (f)
		fclose(f);
	if (maps)
		fclose(maps);
	return rc;
}

static uint64_t status_kb(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	uint64_t kb = 0;

	if (at)
		sscanf(at + strlen(key), " %" SCNu64, &kb);
	return kb * 1024;
}

/* Read the process's number in the vnode, its user and its memory. Returns 0; 1: the process has
 * ended, or is a zombie; -1. */
static int scan_status(struct scanner *c)
{
	char text[8192];
	const char *uid;

	if (file_read(c->dir, "status", text, sizeof(text), NULL) < 0)
		return 1;
	uid = strstr(text, "\nUid:");
	if (last_number(text, "\nNSpid:", &c->pid) < 0 || !uid ||
	    sscanf(uid, "\nUid: %u", &c->uid) != 1)
		return errprintf(c->err, "the status of a process cannot be read");
	c->s->bytes += status_kb(text, "RssAnon:") + status_kb(text, "RssShmem:") +
		       status_kb(text, "VmSwap:");
	c->s->processes++;
	return strstr(text, "\nState:\tZ") ? 1 : 0;
}

static int scan_process(pid_t pid, void *arg)
{
	struct scanner *c = arg;
	char name[32];
	int rc;

	snprintf(name, sizeof(name), "/proc/%d", pid);
	c->dir = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->dir < 0)
		return 0;
	rc = scan_status(c);
	if (rc == 0)
		rc = read_mounts(c);
	if (rc == 0)
		rc = add_link(c, "exe", &(struct move_file){ .what = MOVE_EXE });
	if (rc == 0)
		rc = add_link(c, "cwd", &(struct move_file){ .what = MOVE_CWD });
	if (rc == 0)
		rc = add_link(c, "root", &(struct move_file){ .what = MOVE_ROOT });
	if (rc == 0)
		rc = scan_descriptors(c);
	if (rc == 0)
		rc = scan_mappings(c);
	if (rc == 0)
		rc = scan_threads(c);
	if (rc == 0)
		rc = scan_policies(c);
	free_mounts(c);
	close(c->dir);
	return rc < 0 ? -1 : 0;
}

int move_scan_tree(struct move_record *r, struct move_scan *s, struct errbuf *err)
{
	struct scanner c = { .r = r, .s = s, .err = err };

	memset(r, 0, sizeof(*r));
	s->bytes = 0;
	s->processes = 0;
	errclear(err);
	if (move_tree_each(s->init, scan_process, &c) < 0 || s->processes == 0) {
		move_record_free(r);
		if (err && !err->text[0])
			errprintf(err, "process %d: %s", s->init,
				  errno == ELOOP ? strerror(errno) : "no such process");
		return -1;
	}
	move_record_sort(r);
	return 0;
}

struct thread_walk {
	const struct move_record *r;
	int (*each)(pid_t tid, const struct move_thread *t, void *arg);
	void *arg;
};

/* Return the recorded thread TID of process PID, both in the vnode, or NULL. */
static const struct move_thread *thread_find(const struct move_record *r, int pid, int tid)
{
	size_t low = 0, high = r->threads;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct move_thread *t = &r->thread[middle];

		if (t->pid == pid && t->tid == tid)
			return t;
		if (t->pid < pid || (t->pid == pid && t->tid < tid))
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Return the number in the vnode of the process or thread at NAME below /proc; 0: it has ended. */
static int number_in_vnode(const char *name)
{
	char path[96], text[8192];
	int number;

	snprintf(path, sizeof(path), "/proc/%s/status", name);
	if (file_read(AT_FDCWD, path, text, sizeof(text), NULL) < 0 ||
	    last_number(text, "\nNSpid:", &number) < 0)
		return 0;
	return number;
}

static int walk_threads(pid_t pid, void *arg)
{
	struct thread_walk *w = arg;
	char path[64], name[64];
	struct dirent *d;
	DIR *dir;
	int rc = 0, number;

	snprintf(name, sizeof(name), "%d", pid);
	number = number_in_vnode(name);
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && rc == 0 && (d = readdir(dir))) {
		const struct move_thread *t;

		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		snprintf(name, sizeof(name), "%d/task/%.20s", pid, d->d_name);
		t = thread_find(w->r, number, number_in_vnode(name));
		if (t)
			rc = w->each((pid_t)strtol(d->d_name, NULL, 10), t, w->arg);
	}
	if (dir)
		closedir(dir);
	return rc;
}

int move_threads_each(const struct move_record *r, pid_t init,
		      int (*each)(pid_t tid, const struct move_thread *t, void *arg), void *arg)
{
	struct thread_walk w = { r, each, arg };

	return move_tree_each(init, walk_threads, &w);
}

/* In the child: write the record, or "!" and the reason. */
static void scan_in_child(struct move_scan *s, int out)
{
	struct errbuf err = { 0 };
	struct move_record r;
	char *text = NULL, head[64];
	size_t len = 0;

	if (move_scan_tree(&r, s, &err) < 0 || move_record_print(&r, &text, &len, &err) < 0) {
		(void)write_all(out, "!", 1);
		(void)write_all(out, err.text, strlen(err.text));
		_exit(1);
	}
	snprintf(head, sizeof(head), "%" PRIu64 " %u\n", s->bytes, s->processes);
	_exit(write_all(out, head, strlen(head)) < 0 || write_all(out, text, len) < 0);
}

/* Read all of IN until its end or the time END (monotonic_ms). Returns the length, or -1. */
static ssize_t read_until(int in, char **text, long end)
{
	size_t len = 0, size = 0;

	*text = NULL;
	for (;;) {
		struct pollfd p = { .fd = in, .events = POLLIN };
		long left = end - monotonic_ms();
		ssize_t n;

		if (len + 2 > size) {
			char *more = len > MOVE_RECORD_MAX ? NULL
							   : realloc(*text, 2 * size + 65536);

			if (!more)
				return -1;
			*text = more;
			size = 2 * size + 65536;
		}
		if (left <= 0 || poll(&p, 1, (int)left) == 0) {
			errno = ETIME;
			return -1;
		}
		n = read(in, *text + len, size - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		len += (size_t)n;
		(*text)[len] = '\0';
		if (n == 0)
			return (ssize_t)len;
	}
}

/* Parse what the child has written. */
static int take_scanned(struct move_record *r, struct move_scan *s, const char *text, size_t len,
			struct errbuf *err)
{
	const char *line = strchr(text, '\n');

	if (text[0] == '!')
		return errprintf(err, "%s", text + 1);
	if (!line || sscanf(text, "%" SCNu64 " %u", &s->bytes, &s->processes) != 2)
		return errprintf(err, "the scan of the processes ended early");
	return move_record_parse(r, line + 1, len - (size_t)(line + 1 - text), err);
}

int move_scan_apart(struct move_record *r, struct move_scan *s, unsigned seconds,
		    struct errbuf *err)
{
	long end = monotonic_ms() + 1000l * seconds;
	char *text;
	ssize_t len;
	int fd[2], rc;
	pid_t child;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return errprintf(err, "%s", strerror(errno));
	child = fork();
	if (child == 0) {
		close(fd[0]);
		scan_in_child(s, fd[1]);
	}
	close(fd[1]);
	len = child < 0 ? -1 : read_until(fd[0], &text, end);
	if (child < 0)
		rc = errprintf(err, "%s", strerror(errno));
	else if (len < 0)
		rc = errprintf(err,
			       errno == ETIME
				       ? "the processes of the vnode cannot be examined within %u s"
				       : "the scan of the processes failed (limit %u s)",
			       seconds);
	else
		rc = take_scanned(r, s, text, (size_t)len, err);
	close(fd[0]);
	if (child > 0) {
		kill(child, SIGKILL);
		/*
		 * the child may wait for a user's address space; the kernel ends it after that wait
		 */
		waitpid(child, NULL, len < 0 ? WNOHANG : 0);
		free(text);
	}
	return rc;
}
