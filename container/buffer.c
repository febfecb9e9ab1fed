/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/buffer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "container/buffer_mount.h"
#include "container/buffer_source.h"
#include "container/cgroup.h"
#include "container/fileio.h"
#include "container/monotonic.h"

#define OWNER "owner" /* "INODE CGROUP\n", beside the mount point */
#define POINT "m"
#define MAKE_TIMEOUT 120000 /* milliseconds that another step of the job may take to make it */

static void base_path(char buf[BUFFER_PATH_MAX], const char *state_dir)
{
	snprintf(buf, BUFFER_PATH_MAX, "%s-dimmap", state_dir);
}

bool buffer_supported(void)
{
	FILE *f = fopen("/proc/filesystems", "re");
	char line[64];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = strcmp(line, "nodev\tdimmapfs\n") == 0;
	if (f)
		fclose(f);
	return found;
}

void buffer_path(char buf[BUFFER_PATH_MAX], const char *state_dir, uint64_t inode, unsigned index)
{
	snprintf(buf, BUFFER_PATH_MAX, "%s-dimmap/%" PRIu64 ".%u/" POINT, state_dir, inode, index);
}

/*
 * The directory of all buffers, which users pass through on the way to theirs. It has to be root's: what stands in it
 * decides what is unmounted and removed.
 */
static int open_base(const char *state_dir, bool make, struct errbuf *err)
{
	char path[BUFFER_PATH_MAX];
	struct stat st;
	int fd;

	base_path(path, state_dir);
	if (make && mkdir(path, 0711) < 0 && errno != EEXIST)
		return errprintf(err, "%s: cannot be made: %s", path, strerror(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errprintf(err, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return fd;
	close(fd);
	return errprintf(err, "%s: it is not root's alone to write to", path);
}

/* The buffer's own directory, made and locked; it may go while we wait for the lock. */
static int open_locked(int base, const char *name, struct errbuf *err)
{
	long end = monotonic_ms() + MAKE_TIMEOUT;
	const struct timespec step = { 0, 20000000 };
	struct stat st;
	int fd;

	do {
		if (mkdirat(base, name, 0711) < 0 && errno != EEXIST)
			return errprintf(err, "buffer %s: %s", name, strerror(errno));
		fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0)
			return fd;
		if (fd >= 0)
			close(fd);
		nanosleep(&step, NULL);
	} while (monotonic_ms() < end);
	return errprintf(err, "buffer %s: another step does not come to an end of making it", name);
}

static bool is_buffer(int fd)
{
	struct statfs st;

	return fstatfs(fd, &st) == 0 && (unsigned long)st.f_type == BUFFER_MAGIC;
}

bool buffer_is_at(const char *path)
{
	struct statfs st;

	return statfs(path, &st) == 0 && (unsigned long)st.f_type == BUFFER_MAGIC;
}

static int make_in(int dir, const struct buffer *b, const struct conf *conf, const char *conf_path, struct errbuf *err)
{
	char owner[CGROUP_PATH_MAX + 32];
	int point, source, mount = -1, rc = -1;

	if (mkdirat(dir, POINT, 0700) < 0 && errno != EEXIST)
		return errprintf(err, "mount point: %s", strerror(errno));
	point = openat(dir, POINT, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (point < 0)
		return errprintf(err, "mount point: %s", strerror(errno));
	/* it is mounted when all of it is there */
	if (is_buffer(point)) {
		close(point);
		return 0;
	}
	snprintf(owner, sizeof(owner), "%" PRIu64 " %s\n", b->inode, b->cgroup);
	if (file_replace(dir, OWNER, owner, 0600, err) < 0) {
		close(point);
		return -1;
	}
	source = buffer_source_open(b->ask, b->uid, b->gid, conf, conf_path, err);
	if (source >= 0)
		mount = buffer_mount(b, source, err);
	if (mount >= 0) {
		rc = buffer_attach(mount, point, err);
		close(mount);
	}
	if (source >= 0)
		close(source);
	close(point);
	return rc;
}

/* Unmount what is in DIR, which is NAME in BASE, and remove it; with its lock. */
static void remove_in(int base, int dir, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/" POINT, dir);
	/* who still has it open keeps it until he ends; for others it is gone */
	while (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		;
	/* with the mount point go mounts on it in other namespaces */
	unlinkat(dir, POINT, AT_REMOVEDIR);
	unlinkat(dir, OWNER, 0);
	unlinkat(base, name, AT_REMOVEDIR);
}

int buffer_make(const struct buffer *b, const struct conf *conf, const char *conf_path, struct errbuf *err)
{
	char name[48];
	int base = open_base(conf->state_dir, true, err);
	int dir, rc;

	if (base < 0)
		return -1;
	snprintf(name, sizeof(name), "%" PRIu64 ".%u", b->inode, b->index);
	dir = open_locked(base, name, err);
	rc = dir < 0 ? -1 : make_in(dir, b, conf, conf_path, err);
	if (dir >= 0 && rc < 0)
		remove_in(base, dir, name);
	if (dir >= 0)
		close(dir);
	close(base);
	return rc;
}

/* Call FN for every buffer's directory and its inode; those that are just being made are not. */
static void each(const char *state_dir, bool (*gone)(int dir, uint64_t inode, void *arg), void *arg)
{
	struct errbuf ignored;
	int base = open_base(state_dir, false, &ignored);
	DIR *list = base < 0 ? NULL : fdopendir(dup(base));

	for (struct dirent *e; list && (e = readdir(list)) != NULL;) {
		uint64_t inode;
		unsigned index;
		int dir, n = -1;

		if (sscanf(e->d_name, "%" SCNu64 ".%u%n", &inode, &index, &n) != 2 || n < 0 || e->d_name[n])
			continue;
		dir = openat(base, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (dir < 0)
			continue;
		if (flock(dir, LOCK_EX | LOCK_NB) == 0 && gone(dir, inode, arg))
			remove_in(base, dir, e->d_name);
		close(dir);
	}
	if (list)
		closedir(list);
	if (base >= 0)
		close(base);
}

static bool is_of(int dir, uint64_t inode, void *arg)
{
	(void)dir;
	return inode == *(uint64_t *)arg;
}

void buffer_release(const char *state_dir, uint64_t inode)
{
	each(state_dir, is_of, &inode);
}

static bool is_orphan(int dir, uint64_t inode, void *arg)
{
	const int *cgroup_fd = arg;
	char text[CGROUP_PATH_MAX + 32];
	struct errbuf ignored;
	char *cgroup;

	/* who made it was killed before he had said whose it is */
	if (file_read(dir, OWNER, text, sizeof(text), &ignored) < 0)
		return true;
	text[strcspn(text, "\n")] = '\0';
	cgroup = strchr(text, ' ');
	return !cgroup || cgroup_inode(*cgroup_fd, cgroup + 1) != inode;
}

void buffer_sweep(const char *state_dir, int cgroup_fd)
{
	each(state_dir, is_orphan, &cgroup_fd);
}

int buffer_stats(const char *path, char *text, size_t size)
{
	struct errbuf ignored;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc = -1;

	if (fd < 0)
		return -1;
	if (is_buffer(fd))
		rc = file_read(fd, ".stats", text, size, &ignored);
	close(fd);
	return rc < 0 ? -1 : 0;
}

bool buffer_stat(const char *text, const char *name, uint64_t *value)
{
	size_t len = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (strncmp(line, name, len) == 0 && line[len] == ' ')
			return sscanf(line + len, "%" SCNu64, value) == 1;
	return false;
}
