/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Raw system calls for mounts: glibc has wrappers only since 2.36, which the oldest supported
 * systems lack.
 */
#include "host/buffer_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dimmap/dimmap_ioctl.h"
#include "host/buffer.h"

/* Set ERR to WHAT and dimmapfs's reason: each read of FS returns one line "e MESSAGE". */
static int buffer_mount_explain(int fs, const char *what, struct errbuf *err)
{
	int error = errno;
	char text[256], all[512] = "";
	ssize_t n;

	while ((n = read(fs, text, sizeof(text) - 1)) > 2) {
		text[n] = '\0';
		text[strcspn(text, "\n")] = '\0';
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", *all ? "; " : "",
			 text + 2);
	}
	return errprintf(err, "%s: %s", what, *all ? all : strerror(error));
}

static int buffer_mount_set(int fs, const char *key, const char *value, struct errbuf *err)
{
	return syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, key, value, 0) < 0
		       ? buffer_mount_explain(fs, key, err)
		       : 0;
}

static int set_number(int fs, const char *key, uint64_t value, struct errbuf *err)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return buffer_mount_set(fs, key, text, err);
}

static int configure(int fs, const struct buffer *b, struct errbuf *err)
{
	char nodes[IDSET_LIST_MAX];

	if (idset_format(b->mems, nodes, sizeof(nodes)) < 0)
		return errprintf(err, "the list of the buffer's memory nodes is too long");
	if (set_number(fs, "size", b->ask->size, err) < 0 ||
	    buffer_mount_set(fs, "nodes", nodes, err) < 0 ||
	    set_number(fs, "uid", b->uid, err) < 0 || set_number(fs, "gid", b->gid, err) < 0 ||
	    buffer_mount_set(fs, "mode", "700", err) < 0)
		return -1;
	if (b->ask->policy &&
	    buffer_mount_set(fs, "policy", request_dimmap_policies[b->ask->policy - 1], err) < 0)
		return -1;
	if (b->ask->fill && set_number(fs, "fill", b->ask->fill, err) < 0)
		return -1;
	/* allocates the buffer's memory */
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return buffer_mount_explain(fs, "cannot be made", err);
	return 0;
}

static int bind_source(int mount, const struct buffer *b, int source, bool *busy,
		       struct errbuf *err)
{
	struct dimmap_bind bind = { .name = BUFFER_FILE,
				    .fd = source,
				    .flags = b->ask->read_only ? DIMMAP_BIND_READ_ONLY : 0 };
	int dir = openat(mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	rc = dir < 0 ? -1 : ioctl(dir, DIMMAP_IOC_BIND, &bind);
	if (rc < 0) {
		*busy = errno == EBUSY;
		bind.why[sizeof(bind.why) - 1] = '\0';
		errprintf(err, "%s: %s", b->ask->source, *bind.why ? bind.why : strerror(errno));
	}
	if (dir >= 0)
		close(dir);
	return rc;
}

void buffer_shut_down(int dir)
{
	uint32_t patience = 60000;

	if (ioctl(dir, DIMMAP_IOC_SYNC, &patience) == 0 || errno != EINTR)
		ioctl(dir, DIMMAP_IOC_SHUTDOWN);
}

int buffer_mount(const struct buffer *b, int source, bool *busy, struct errbuf *err)
{
	/* loads the module if it is installed */
	int fs = (int)syscall(SYS_fsopen, "dimmapfs", FSOPEN_CLOEXEC);
	int mount = -1;

	*busy = false;
	if (fs < 0 && errno == ENODEV)
		return errprintf(err, "this node's kernel has no dimmapfs: ask for a node that has "
				      "it (--constraint=" BUFFER_FEATURE
				      " if the site lists that feature), or ask your "
				      "administrator to install it (see nodeos-spank(8))");
	if (fs < 0)
		return errprintf(err, "dimmapfs: %s", strerror(errno));
	if (configure(fs, b, err) == 0) {
		mount = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC,
				     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
		if (mount < 0)
			buffer_mount_explain(fs, "cannot be mounted", err);
	}
	close(fs);
	if (mount >= 0 && bind_source(mount, b, source, busy, err) < 0) {
		close(mount);
		mount = -1;
	}
	return mount;
}

int buffer_attach(int mount, int point, struct errbuf *err)
{
	if (syscall(SYS_move_mount, mount, "", point, "",
		    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return errprintf(err, "cannot be mounted: %s", strerror(errno));
	return 0;
}

/* ------------------------------------------------------------ in other namespaces */

/* Make the missing directories of PATH. */
static int make_path(const char *path)
{
	char part[BUFFER_PATH_MAX];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (mkdir(part, 0711) < 0 && errno != EEXIST)
			return -1;
	}
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -1 : 0;
}

/*
 * Runs in a child: copy the mount from the namespace of MAKER to HERE, the parent's namespace.
 * Returns 0 or an errno.
 */
static int carry_mount(const char *path, int maker, int here)
{
	struct statfs st;
	int tree;

	if (setns(maker, CLONE_NEWNS) < 0)
		return errno;
	tree = (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0)
		return errno;
	if (fstatfs(tree, &st) < 0 || (unsigned long)st.f_type != BUFFER_MAGIC)
		return ENOENT;
	if (setns(here, CLONE_NEWNS) < 0)
		return errno;
	return syscall(SYS_move_mount, tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0
		       ? errno
		       : 0;
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

void buffer_maker_is_me(struct buffer_maker *m)
{
	int ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

	m->pid = getpid();
	m->ns = inode_of(ns);
	if (ns >= 0)
		close(ns);
}

/* The caller holds a lock, so that two ranks of one namespace do not mount the buffer twice. */
static int buffer_mount_show(const char *path, const struct buffer_maker *maker, struct errbuf *err)
{
	char ns[64];
	const char *why;
	int there, here, status = 0;
	pid_t pid = -1;

	if (buffer_is_at(path))
		return 0;
	snprintf(ns, sizeof(ns), "/proc/%d/ns/mnt", (int)maker->pid);
	there = open(ns, O_RDONLY | O_CLOEXEC);
	here = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	why = there < 0 || here < 0 ? strerror(errno) : NULL;
	if (!why && inode_of(there) != maker->ns)
		why = "the process that made it has ended";
	if (!why) {
		pid = fork();
		if (pid == 0)
			_exit(carry_mount(path, there, here));
		why = pid < 0 ? strerror(errno) : NULL;
	}
	if (pid > 0) {
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (!WIFEXITED(status))
			why = "the process that copies the mount was killed";
		else if (WEXITSTATUS(status))
			why = strerror(WEXITSTATUS(status));
		else if (!buffer_is_at(path))
			why = "another file system is mounted over it";
	}
	if (there >= 0)
		close(there);
	if (here >= 0)
		close(here);
	return why ? errprintf(err,
			       "the buffer is at %s in the node's mount namespace, and cannot be "
			       "shown in the job's: %s",
			       path, why)
		   : 0;
}

int buffer_show(const char *path, const struct buffer_maker *maker, struct errbuf *err)
{
	char dir[BUFFER_PATH_MAX];
	const char *slash = strrchr(path, '/');
	mode_t mask;
	int lock, rc;

	if (buffer_is_at(path))
		return 0;
	mask = umask(022);
	rc = make_path(path) < 0 ? errprintf(err, "%s: cannot be made: %s", path, strerror(errno))
				 : 0;
	umask(mask);
	if (rc < 0)
		return -1;
	/* lock the parent directory, which users cannot open */
	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
	lock = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		rc = errprintf(err, "%s: %s", dir, strerror(errno));
	else
		rc = buffer_mount_show(path, maker, err);
	if (lock >= 0)
		close(lock);
	return rc;
}
