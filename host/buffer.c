/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/buffer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/monotonic.h"
#include "host/buffer_mount.h"
#include "host/buffer_source.h"
#include "host/cgroup.h"

/* file beside the mount point: a line "INODE CGROUP", then the owner and the request */
#define OWNER "owner"
#define OWNER_MAX (CGROUP_PATH_MAX + REQUEST_SOURCE_MAX + 256)
#define POINT "m"
/*
 * mode of the directories above a buffer; also set by fchmod(), because the umask may be stricter
 */
#define MODE 0711
/* milliseconds to wait while another step of the job makes the buffer */
#define MAKE_TIMEOUT 120000
/*
 * milliseconds to wait while other buffers are removed, because one of them may use the device;
 * less than the 600 seconds that srun waits for a step to start
 */
#define FREE_TIMEOUT 300000
/* milliseconds to wait for the device after another buffer was last made or removed */
#define SETTLE_TIMEOUT 3000
#define LOCK_TIMEOUT 1000 /* milliseconds to wait for a sweep's lock */
#define GOING_MAX 64

static void base_path(char buf[BUFFER_PATH_MAX], const char *state_dir)
{
	snprintf(buf, BUFFER_PATH_MAX, "%s-dimmap", state_dir);
}

static bool is_loaded(void)
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

/* Search this kernel's modules: the first mount loads the module. */
static bool is_installed(void)
{
	struct utsname u;
	char path[sizeof(u.release) + 64], *line = NULL;
	size_t size = 0;
	bool found = false;
	FILE *f;

	uname(&u);
	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", u.release);
	f = fopen(path, "re");
	while (f && !found && getline(&line, &size, f) > 0) {
		line[strcspn(line, ":")] = '\0';
		found = strstr(line, "/dimmapfs.ko") != NULL;
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

bool buffer_supported(void)
{
	return is_loaded() || is_installed();
}

void buffer_path(char buf[BUFFER_PATH_MAX], const char *state_dir, uint64_t inode, unsigned index)
{
	snprintf(buf, BUFFER_PATH_MAX, "%s-dimmap/%" PRIu64 ".%u/" POINT, state_dir, inode, index);
}

/*
 * Open the directory of all buffers, through which users reach their own. It must belong to root,
 * since its entries decide what is unmounted and removed.
 */
static int open_base(const char *state_dir, bool make, struct errbuf *err)
{
	char path[BUFFER_PATH_MAX];
	struct stat st;
	int fd;

	base_path(path, state_dir);
	if (make && mkdir(path, MODE) < 0 && errno != EEXIST)
		return errprintf(err, "%s: cannot be made: %s", path, strerror(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errprintf(err, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
	    (!make || (st.st_mode & 07777) == MODE || fchmod(fd, MODE) == 0))
		return fd;
	close(fd);
	return errprintf(err, "%s: must belong to root and be writable by root only", path);
}

static void pause_ms(long ms)
{
	const struct timespec step = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&step, NULL);
}

static int lock_within(int fd, long ms)
{
	long end = monotonic_ms() + ms;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if ((errno != EWOULDBLOCK && errno != EINTR) || monotonic_ms() >= end)
			return -1;
		pause_ms(20);
	}
	return 0;
}

/*
 * Make and lock the buffer's own directory. Try again if another process removes it before the lock
 * is taken.
 */
static int open_locked(int base, const char *name, struct errbuf *err)
{
	long end = monotonic_ms() + MAKE_TIMEOUT;
	struct stat st;
	int fd;

	do {
		if (mkdirat(base, name, MODE) < 0 && errno != EEXIST)
			return errprintf(err, "buffer %s: %s", name, strerror(errno));
		fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0)
			return errprintf(err, "buffer %s: %s", name, strerror(errno));
		if (lock_within(fd, end - monotonic_ms()) < 0) {
			errprintf(err, "buffer %s: another step has not finished making it", name);
			close(fd);
			return -1;
		}
		if (fstat(fd, &st) == 0 && st.st_nlink > 0 && fchmod(fd, MODE) == 0)
			return fd;
		close(fd);
	} while (monotonic_ms() < end);
	return errprintf(err, "buffer %s: other processes keep removing it", name);
}

static bool is_buffer(int fd)
{
	struct statfs st;

	return fstatfs(fd, &st) == 0 && (unsigned long)st.f_type == BUFFER_MAGIC;
}

/*
 * Remove the mount in DIR, even if processes outside of the job have it open. Shut the buffer down
 * before the unmount: if this process is killed in between, a later process still finds the mount.
 */
static void unmount_in(int dir)
{
	char path[64];
	int point;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/" POINT, dir);
	do {
		point = openat(dir, POINT, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (point >= 0 && is_buffer(point))
			buffer_shut_down(point);
		if (point >= 0)
			close(point);
	} while (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0);
	/* removing the mount point also removes mounts on it in other mount namespaces */
	unlinkat(dir, POINT, AT_REMOVEDIR);
}

/*
 * Unmount and remove DIR, which is NAME in BASE, with its lock held. All calls are
 * async-signal-safe, because this may run in a copy of slurmstepd.
 */
static void remove_in(int base, int dir, const char *name)
{
	unmount_in(dir);
	unlinkat(dir, OWNER, 0);
	unlinkat(base, name, AT_REMOVEDIR);
}

/* Return whether another buffer is being made or removed. */
static bool others_change(int base, const char *name)
{
	DIR *list = fdopendir(openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	bool found = false;

	for (struct dirent *e; list && !found && (e = readdir(list)) != NULL;) {
		int fd = e->d_name[0] == '.' || strcmp(e->d_name, name) == 0
				 ? -1
				 : openat(base, e->d_name,
					  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0)
			continue;
		found = flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
		close(fd);
	}
	if (list)
		closedir(list);
	return found;
}

/*
 * Mount the buffer, and wait while its device is in use: a buffer of an earlier step may still use
 * the device, because srun returns before slurmstepd removes the step's buffers.
 */
static int mount_when_free(int base, const char *name, const struct buffer *b, int source,
			   struct errbuf *err)
{
	long now = monotonic_ms(), end = now + FREE_TIMEOUT, changed = now;
	char why[sizeof(err->text)];
	bool busy;
	int mount;

	while ((mount = buffer_mount(b, source, &busy, err)) < 0 && busy && now < end &&
	       now < changed + SETTLE_TIMEOUT) {
		pause_ms(300);
		now = monotonic_ms();
		if (others_change(base, name))
			changed = now;
	}
	if (mount < 0 && busy) {
		snprintf(why, sizeof(why), "%s", err->text);
		errprintf(err,
			  "%s (does another job use this source? nodeosctl report lists buffers; "
			  "sites can share devices by GRES or licences)",
			  why);
	}
	return mount;
}

/* The directory of one buffer, open and locked. */
struct buffer_dir {
	int base; /* its parent directory */
	int dir;
	char name[48];
};

static int make_in(const struct buffer_dir *at, const struct buffer *b, const struct conf *conf,
		   const char *conf_path, struct errbuf *err)
{
	int dir = at->dir;
	char owner[OWNER_MAX], old[OWNER_MAX];
	struct errbuf ignored;
	int point, source, mount = -1, rc = -1;

	snprintf(owner, sizeof(owner),
		 "%" PRIu64 " %s\nuid %u gid %u size %" PRIu64 " policy %u fill %u %s %s\n",
		 b->inode, b->cgroup, (unsigned)b->uid, (unsigned)b->gid, b->ask->size,
		 (unsigned)b->ask->policy, (unsigned)b->ask->fill, b->ask->read_only ? "ro" : "rw",
		 b->ask->source);
	if (mkdirat(dir, POINT, 0700) < 0 && errno != EEXIST)
		return errprintf(err, "cannot make the mount point: %s", strerror(errno));
	point = openat(dir, POINT, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (point < 0)
		return errprintf(err, "cannot open the mount point: %s", strerror(errno));
	/* a buffer is mounted here only when it is complete */
	if (is_buffer(point)) {
		if (file_read(dir, OWNER, old, sizeof(old), &ignored) >= 0 &&
		    strcmp(old, owner) == 0) {
			close(point);
			return 0;
		}
		close(point);
		unmount_in(dir);
		if (mkdirat(dir, POINT, 0700) < 0)
			return errprintf(err,
					 "mount point: the earlier buffer cannot be removed: %s",
					 strerror(errno));
		point = openat(dir, POINT, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (point < 0)
			return errprintf(err, "cannot open the new mount point: %s",
					 strerror(errno));
	}
	if (file_replace(dir, OWNER, owner, 0600, err) < 0) {
		close(point);
		return -1;
	}
	source = buffer_source_open(b, conf, conf_path, err);
	if (source >= 0)
		mount = mount_when_free(at->base, at->name, b, source, err);
	if (mount >= 0) {
		rc = buffer_attach(mount, point, err);
		close(mount);
	}
	if (source >= 0)
		close(source);
	close(point);
	return rc;
}

int buffer_make(const struct buffer *b, const struct conf *conf, const char *conf_path,
		struct errbuf *err)
{
	struct buffer_dir at = { .base = open_base(conf->state_dir, true, err) };
	int rc;

	if (at.base < 0)
		return -1;
	snprintf(at.name, sizeof(at.name), "%" PRIu64 ".%u", b->inode, b->index);
	at.dir = open_locked(at.base, at.name, err);
	rc = at.dir < 0 ? -1 : make_in(&at, b, conf, conf_path, err);
	if (at.dir >= 0 && rc < 0)
		remove_in(at.base, at.dir, at.name);
	if (at.dir >= 0)
		close(at.dir);
	close(at.base);
	return rc;
}

/*
 * Close all files of the caller except *BASE and *DIR, so that no process waits for this one to
 * close them. Examples are ranks' pipes, and the pipe from which slurmd reads an epilog's output.
 */
static void keep_only(int *base, int *dir)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/*
	 * use numbers above 4: the next calls use the low ones; the lock stays, because it belongs
	 * to the open file, not to the descriptor
	 */
	*base = fcntl(*base, F_DUPFD_CLOEXEC, 10);
	*dir = fcntl(*dir, F_DUPFD_CLOEXEC, 10);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
	    dup2(*base, 3) < 0 || dup2(*dir, 4) < 0 || syscall(SYS_close_range, 5U, ~0U, 0) < 0)
		_exit(1); /* the buffer stays until the next sweep */
	*base = 3;
	*dir = 4;
}

/*
 * Remove a buffer in a child process, so that several slow devices work at the same time. The
 * caller may be a copy of the multi-threaded slurmstepd. OUT is -1 if the caller waits for the
 * child; otherwise OUT is the descriptor of the root cgroup, to which the child moves, and init
 * reaps the child.
 */
static pid_t remove_apart(int base, int dir, const char *name, int out)
{
	pid_t pid = fork();

	if (pid == 0) {
		sigset_t none;
		int procs;

		for (int sig = 1; sig < NSIG; sig++)
			signal(sig, SIG_DFL);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		setsid();
		if (out >= 0) {
			if (fork() != 0)
				_exit(0);
			procs = openat(out, "cgroup.procs", O_WRONLY | O_CLOEXEC);
			if (procs < 0 || write(procs, "0", 1) != 1)
				_exit(1);
			keep_only(&base, &dir);
		}
		remove_in(base, dir, name);
		_exit(0);
	}
	return pid;
}

/*
 * The buffers to remove: those of the directory with inode ONLY; if ONLY is 0, those whose
 * directory below CGROUP_FD is gone or has no process.
 */
struct choice {
	uint64_t only;
	bool one; /* only the buffer with INDEX */
	unsigned index;
	int cgroup_fd;
};

static bool is_orphan(int dir, uint64_t inode, int cgroup_fd)
{
	char text[OWNER_MAX];
	struct errbuf ignored;
	char *cgroup;

	/*
	 * if the file is missing, the maker was killed before it wrote the owner; an unreadable
	 * file proves nothing
	 */
	if (faccessat(dir, OWNER, F_OK, 0) < 0)
		return errno == ENOENT;
	if (file_read(dir, OWNER, text, sizeof(text), &ignored) < 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	cgroup = strchr(text, ' ');
	return !cgroup || cgroup_is_gone(cgroup_fd, cgroup + 1, inode) ||
	       cgroup_is_empty(cgroup_fd, cgroup + 1);
}

/* Remove the chosen buffers, except those that another process is making or removing. */
static void take_down(const char *state_dir, const struct choice *c)
{
	struct errbuf ignored;
	int base = open_base(state_dir, false, &ignored);
	DIR *list = base < 0 ? NULL
			     : fdopendir(openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	pid_t going[GOING_MAX];
	unsigned n_going = 0;

	for (struct dirent *e; list && (e = readdir(list)) != NULL && n_going < GOING_MAX;) {
		uint64_t inode;
		unsigned index;
		int dir, n = -1;

		if (sscanf(e->d_name, "%" SCNu64 ".%u%n", &inode, &index, &n) != 2 || n < 0 ||
		    e->d_name[n] || (c->only && inode != c->only) || (c->one && index != c->index))
			continue;
		dir = openat(base, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (dir < 0)
			continue;
		/* a sweep may hold the lock for a short time */
		if (lock_within(dir, c->only ? LOCK_TIMEOUT : 0) == 0 &&
		    (c->only || is_orphan(dir, inode, c->cgroup_fd))) {
			going[n_going] =
				remove_apart(base, dir, e->d_name, c->only ? -1 : c->cgroup_fd);
			if (going[n_going] > 0)
				n_going++;
			else if (c->only)
				remove_in(base, dir, e->d_name);
		}
		/* the forked process shares the lock and releases it when it ends */
		close(dir);
	}
	while (n_going > 0)
		if (waitpid(going[n_going - 1], NULL, 0) >= 0 || errno != EINTR)
			n_going--;
	if (list)
		closedir(list);
	if (base >= 0)
		close(base);
}

void buffer_release(const char *state_dir, uint64_t inode)
{
	struct choice c = { .only = inode, .cgroup_fd = -1 };

	if (inode)
		take_down(state_dir, &c);
}

void buffer_release_one(const char *state_dir, uint64_t inode, unsigned index)
{
	struct choice c = { .only = inode, .one = true, .index = index, .cgroup_fd = -1 };

	if (inode)
		take_down(state_dir, &c);
}

void buffer_sweep(const char *state_dir, int cgroup_fd)
{
	struct choice c = { .cgroup_fd = cgroup_fd };

	take_down(state_dir, &c);
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

	for (const char *line = text; line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (strncmp(line, name, len) == 0 && line[len] == ' ')
			return sscanf(line + len, "%" SCNu64, value) == 1;
	return false;
}
