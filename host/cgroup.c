/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fileio.h"

/* Find the mount point of the cgroup2 file system whose root is that of the whole hierarchy. */
static int find_mount(char *out, size_t size, struct errbuf *err)
{
	char line[4096];
	FILE *f = fopen("/proc/self/mountinfo", "re");
	int found = 0;

	if (!f)
		return errprintf(err, "/proc/self/mountinfo: %s", strerror(errno));
	while (!found && fgets(line, sizeof(line), f)) {
		char root[1024], point[1024];
		const char *type = strstr(line, " - ");

		if (type && strncmp(type, " - cgroup2 ", 11) == 0 &&
		    sscanf(line, "%*d %*d %*s %1023s %1023s", root, point) == 2 &&
		    strcmp(root, "/") == 0)
			found = (size_t)snprintf(out, size, "%s", point) < size;
	}
	fclose(f);
	if (!found)
		return errprintf(err, "no cgroup v2 file system is mounted: NodeOS needs Slurm's "
				      "cgroup/v2 plugin");
	return 0;
}

int cgroup_open_root(const char *root, struct errbuf *err)
{
	char point[1024];
	struct statfs fs;
	int fd;

	if (!root && find_mount(point, sizeof(point), err) < 0)
		return -1;
	fd = open(root ? root : point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errprintf(err, "%s: %s", root ? root : point, strerror(errno));
	if (!root && (fstatfs(fd, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)) {
		close(fd);
		return errprintf(err, "%s: not a cgroup v2 file system", point);
	}
	return fd;
}

/* Cut the last component off PATH. Returns it, or NULL at the top. */
static const char *cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash)
		return NULL;
	*slash = '\0';
	return slash + 1;
}

static int read_own_path(char *out, size_t size, const char *proc, pid_t pid, struct errbuf *err)
{
	char file[256], text[8192];
	const char *line;
	size_t len;

	snprintf(file, sizeof(file), "%s/%ld/cgroup", proc, (long)pid);
	if (file_read(AT_FDCWD, file, text, sizeof(text), err) < 0)
		return -1;
	line = strncmp(text, "0::/", 4) == 0 ? text : strstr(text, "\n0::/");
	if (!line)
		return errprintf(
			err, "%s: no cgroup v2 line: NodeOS needs Slurm's cgroup/v2 plugin", file);
	line = strchr(line, '/') + 1;
	len = strcspn(line, "\n");
	if (len >= size || !len || strstr(line, "/../") || strncmp(line, "../", 3) == 0)
		return errprintf(err, "%s: unusable path \"%.100s\"", file, line);
	memcpy(out, line, len);
	out[len] = '\0';
	return 0;
}

const char *cgroup_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (strncmp(path, dir, len) != 0 || (path[len] != '/' && path[len] != '\0'))
		return NULL;
	return path + len + (path[len] == '/');
}

bool cgroup_is_of_node(const char *path, const char *node)
{
	static const char scope[] = "_slurmstepd.scope";
	const char *end = strstr(path, scope);
	const char *start = end;
	size_t len = strlen(node);

	while (start && start > path && start[-1] != '/')
		start--;
	if (!end || start == end || end[sizeof(scope) - 1] != '/')
		return true;
	return (size_t)(end - start) == len && strncmp(start, node, len) == 0;
}

uint64_t cgroup_inode(int root_fd, const char *path)
{
	struct stat st;

	if (fstatat(root_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	return (uint64_t)st.st_ino;
}

bool cgroup_is_gone(int root_fd, const char *path, uint64_t inode)
{
	struct stat st;

	if (fstatat(root_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT || errno == ENOTDIR;
	return (uint64_t)st.st_ino != inode;
}

int cgroup_find_place(struct cgroup_place *out, int root_fd, const char *proc, pid_t pid,
		      struct errbuf *err)
{
	struct cgroup_place p = { .task = "" };
	char path[CGROUP_PATH_MAX];
	const char *last;

	if (read_own_path(path, sizeof(path) - 8, proc, pid, err) < 0)
		return -1;
	snprintf(p.task, sizeof(p.task), "%s", path);
	last = cut_last(path);
	if (last && strcmp(last, "slurm") == 0) {
		p.task[0] = '\0'; /* slurmstepd itself is in step/slurm */
	} else {
		if (!last || strncmp(last, "task_", 5) != 0)
			goto shape;
		last = cut_last(path);
		if (!last || strcmp(last, "user") != 0)
			goto shape;
	}
	snprintf(p.step, sizeof(p.step), "%s", path);
	if ((size_t)snprintf(p.user, sizeof(p.user), "%s/user", path) >= sizeof(p.user))
		goto shape;
	last = cut_last(path);
	if (!last || strncmp(last, "step_", 5) != 0)
		goto shape;
	snprintf(p.job, sizeof(p.job), "%s", path);
	p.job_inode = cgroup_inode(root_fd, p.job);
	p.step_inode = cgroup_inode(root_fd, p.step);
	if (!p.job_inode || !p.step_inode)
		return errprintf(err, "cgroup %s: %s", p.step, strerror(ENOENT));
	*out = p;
	return 0;
shape:
	return errprintf(err,
			 "process %ld is in cgroup \"%.200s\", not in JOB/STEP/user/TASK: "
			 "NodeOS needs proctrack/cgroup and task/cgroup",
			 (long)pid, p.task);
}

static int open_dir(int root_fd, const char *path, struct errbuf *err)
{
	int fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errprintf(err, "cgroup %s: %s", path, strerror(errno));
	return fd;
}

int cgroup_read(int root_fd, const char *path, const char *file, char *buf, size_t size,
		struct errbuf *err)
{
	int dir = open_dir(root_fd, path, err);
	int rc;

	if (dir < 0)
		return -1;
	rc = file_read(dir, file, buf, size, err);
	close(dir);
	if (rc < 0)
		return errwrap(err, "cgroup %s", path);
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

bool cgroup_is_empty(int root_fd, const char *path)
{
	struct errbuf ignored;
	char line[64];

	return cgroup_read(root_fd, path, "cgroup.events", line, sizeof(line), &ignored) == 0 &&
	       strcmp(line, "populated 0") == 0;
}

int cgroup_read_set(int root_fd, const char *path, const char *file, struct idset *out,
		    struct errbuf *err)
{
	char *buf = malloc(IDSET_LIST_MAX + 2);
	int rc;

	if (!buf)
		return errprintf(err, "out of memory");
	rc = cgroup_read(root_fd, path, file, buf, IDSET_LIST_MAX + 2, err);
	if (rc == 0)
		rc = idset_parse(out, buf, err);
	free(buf);
	return rc;
}

static int cgroup_read_list(struct idset *out, const char *path, struct errbuf *err)
{
	char list[4096];

	if (file_read(AT_FDCWD, path, list, sizeof(list), err) < 0 ||
	    idset_parse(out, list, err) < 0)
		return errwrap(err, "%s", path);
	return 0;
}

int cgroup_node_cpus(struct idset *out, struct errbuf *err)
{
	return cgroup_read_list(out, "/sys/devices/system/cpu/online", err);
}

int cgroup_mems_with_cpus(struct idset *out, struct errbuf *err)
{
	return cgroup_read_list(out, "/sys/devices/system/node/has_cpu", err);
}

int cgroup_write(int root_fd, const char *path, const char *file, const char *text,
		 struct errbuf *err)
{
	/* the kernel ignores a write(2) of no bytes */
	const char *bytes = *text ? text : "\n";
	size_t len = strlen(bytes);
	int dir = open_dir(root_fd, path, err);
	int rc = -1;
	int fd;

	if (dir < 0)
		return -1;
	fd = openat(dir, file, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	close(dir);
	if (fd < 0)
		return errprintf(err, "cgroup %s/%s: %s", path, file, strerror(errno));
	if (write(fd, bytes, len) == (ssize_t)len)
		rc = 0;
	else
		errprintf(err, "cgroup %s/%s: cannot set \"%.100s\": %s", path, file, text,
			  strerror(errno));
	close(fd);
	return rc;
}

int cgroup_write_set(int root_fd, const char *path, const char *file, const struct idset *set,
		     struct errbuf *err)
{
	char *buf;
	int rc = -1;

	if (idset_empty(set))
		return errprintf(err, "cgroup %s/%s: cannot set an empty list", path, file);
	buf = malloc(IDSET_LIST_MAX);
	if (!buf)
		return errprintf(err, "out of memory");
	if (idset_format(set, buf, IDSET_LIST_MAX) > 0)
		rc = cgroup_write(root_fd, path, file, buf, err);
	else
		errprintf(err, "cgroup %s/%s: the list is too long", path, file);
	free(buf);
	return rc;
}

int cgroup_write_mems(int root_fd, const char *path, const struct idset *mems, struct errbuf *err)
{
	return cgroup_write_set(root_fd, path, "cpuset.mems", mems, err);
}

static int each_in(int root_fd, const char *path, const char *file,
		   void (*fn)(pid_t pid, void *arg), void *arg, struct errbuf *err)
{
	int dir = open_dir(root_fd, path, err);
	char line[32];
	FILE *f;
	int fd;

	if (dir < 0)
		return -1;
	fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	close(dir);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f) {
		if (fd >= 0)
			close(fd);
		return errprintf(err, "cgroup %s/%s: %s", path, file, strerror(errno));
	}
	while (fgets(line, sizeof(line), f))
		fn((pid_t)strtol(line, NULL, 10), arg);
	fclose(f);
	return 0;
}

int cgroup_each_pid(int root_fd, const char *path, void (*fn)(pid_t pid, void *arg), void *arg,
		    struct errbuf *err)
{
	return each_in(root_fd, path, "cgroup.procs", fn, arg, err);
}

int cgroup_each_thread(int root_fd, const char *path, void (*fn)(pid_t tid, void *arg), void *arg,
		       struct errbuf *err)
{
	return each_in(root_fd, path, "cgroup.threads", fn, arg, err);
}

struct below {
	int root_fd;
	unsigned depth;
	const char *path; /* of the current cgroup */
	void (*fn)(const char *path, pid_t pid, void *arg);
	void *arg;
};

/* greatest depth of cgroups that root made or allowed a user to make */
#define DEPTH_MAX 32

static void visit_pid(pid_t pid, void *arg)
{
	const struct below *b = arg;

	b->fn(b->path, pid, b->arg);
}

static int cgroup_walk(struct below *b, const char *path, struct errbuf *err);

static int walk_into(struct below *b, const char *path, const char *name, struct errbuf *err)
{
	char *below = NULL;
	int rc;

	if (b->depth == DEPTH_MAX)
		return errprintf(err, "cgroup %s: cgroups are nested more than %d deep", path,
				 DEPTH_MAX);
	if (asprintf(&below, "%s/%s", path, name) < 0)
		return errprintf(err, "out of memory");
	b->depth++;
	rc = cgroup_walk(b, below, err);
	b->depth--;
	free(below);
	return rc;
}

static int cgroup_walk(struct below *b, const char *path, struct errbuf *err)
{
	struct errbuf ended;
	int fd = open_dir(b->root_fd, path, &ended), rc = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (fd < 0)
		return errno == ENOENT ? 0 : errprintf(err, "%s", ended.text);
	if (!dir) {
		close(fd);
		return errprintf(err, "cgroup %s: %s", path, strerror(errno));
	}
	b->path = path;
	/* a threaded cgroup has no list of processes: its parent's list has them */
	each_in(b->root_fd, path, "cgroup.procs", visit_pid, b, &ended);
	while (rc == 0 && (e = readdir(dir)) != NULL)
		if (e->d_type == DT_DIR && strcmp(e->d_name, ".") != 0 &&
		    strcmp(e->d_name, "..") != 0)
			rc = walk_into(b, path, e->d_name, err);
	closedir(dir);
	return rc;
}

int cgroup_each_pid_below(int root_fd, const char *path,
			  void (*fn)(const char *path, pid_t pid, void *arg), void *arg,
			  struct errbuf *err)
{
	struct below b = { .root_fd = root_fd, .fn = fn, .arg = arg };

	return cgroup_walk(&b, path, err);
}
