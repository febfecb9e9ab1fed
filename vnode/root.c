/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vnode/root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "vnode/devices.h"

#define PATH_ROOM (2 * DIR_PATH_MAX)
#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x00002000
#endif

/* Call FN for each path of LIST until one call fails. */
static int each_path(const char *list, int (*fn)(const char *path, void *arg, struct errbuf *err),
		     void *arg, struct errbuf *err)
{
	char path[DIR_PATH_MAX];
	const char *word;
	size_t len;

	while ((word = vnode_next_word(&list, &len))) {
		snprintf(path, sizeof(path), "%.*s", (int)len, word);
		if (fn(path, arg, err) < 0)
			return -1;
	}
	return 0;
}

static int check_tmpfs_place(const char *path, void *arg, struct errbuf *err)
{
	struct stat st;

	(void)arg;
	if (stat(path, &st) < 0)
		return errprintf(err, "%s: %s", path, strerror(errno));
	return S_ISDIR(st.st_mode) ? 0 : errprintf(err, "%s: not a directory", path);
}

/*
 * Refuse a PATH that is no mount: a directory on the host's own disk would have other contents on
 * the next host.
 */
static int check_mount(const char *path, void *arg, struct errbuf *err)
{
	struct statx st;

	if (check_tmpfs_place(path, arg, err) < 0)
		return -1;
	if (statx(AT_FDCWD, path, AT_NO_AUTOMOUNT, STATX_TYPE, &st) < 0)
		return errprintf(err, "%s: %s", path, strerror(errno));
	if ((st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) &&
	    !(st.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return errprintf(err, "%s: no file system is mounted there", path);
	return 0;
}

int vnode_root_check(const struct vnode_conf *c, struct errbuf *err)
{
	if (each_path(c->mounts, check_mount, NULL, err) < 0 ||
	    each_path(c->mounts_ro, check_mount, NULL, err) < 0)
		return errwrap(err, "mounts");
	if (each_path(c->tmpfs, check_tmpfs_place, NULL, err) < 0)
		return errwrap(err, "tmpfs");
	return 0;
}

static int join_path(char out[PATH_ROOM], const char *at, const char *path, struct errbuf *err)
{
	if ((size_t)snprintf(out, PATH_ROOM, "%s%s", at, path) < PATH_ROOM)
		return 0;
	return errprintf(err, "%.100s: path too long", path);
}

static int mount_tmpfs(const char *path, const char *at, const char *options, struct errbuf *err)
{
	char to[PATH_ROOM];

	if (join_path(to, at, path, err) < 0)
		return -1;
	if (mount("tmpfs", to, "tmpfs", MS_NOSUID, options) < 0)
		return errprintf(err, "tmpfs on %s: %s", path, strerror(errno));
	return 0;
}

static int mount_scratch(const char *path, void *arg, struct errbuf *err)
{
	return mount_tmpfs(path, arg, "mode=0755", err);
}

/*
 * Make the mount TO read-only. Its other flags, and other mounts of the file system, do not change.
 */
static int set_read_only(const char *to, struct errbuf *err)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	if (syscall(SYS_mount_setattr, AT_FDCWD, to, 0, &attr, sizeof(attr)) < 0)
		return errprintf(err, "%s: cannot be made read-only: %s", to, strerror(errno));
	return 0;
}

static int bind_mount(const char *path, void *arg, struct errbuf *err)
{
	char to[PATH_ROOM];

	if (join_path(to, arg, path, err) < 0)
		return -1;
	if (mount(path, to, NULL, MS_BIND, NULL) < 0)
		return errprintf(err, "mount of %s: %s", path, strerror(errno));
	return 0;
}

static int bind_mount_read_only(const char *path, void *arg, struct errbuf *err)
{
	char to[PATH_ROOM];

	if (bind_mount(path, arg, err) < 0 || join_path(to, arg, path, err) < 0)
		return -1;
	return set_read_only(to, err);
}

static int make_directories(const char *at, struct errbuf *err)
{
	static const struct {
		const char *path;
		mode_t mode;
	} row[] = {
		{ "/dev/pts", 0755 },	{ "/dev/shm", 01777 },	{ "/run/munge", 0755 },
		{ "/run/slurm", 0755 }, { "/run/lock", 01777 }, { "/run/nodeos", 0700 },
	};
	char to[PATH_ROOM];

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (join_path(to, at, row[i].path, err) < 0 || mkdir(to, row[i].mode) < 0 ||
		    chmod(to, row[i].mode) < 0)
			return errprintf(err, "%s: %s", row[i].path, strerror(errno));
	return 0;
}

static int make_links(const char *at, struct errbuf *err)
{
	static const char *const row[][2] = {
		{ "pts/ptmx", "/dev/ptmx" },	      { "/proc/self/fd", "/dev/fd" },
		{ "/proc/self/fd/0", "/dev/stdin" },  { "/proc/self/fd/1", "/dev/stdout" },
		{ "/proc/self/fd/2", "/dev/stderr" },
	};
	char to[PATH_ROOM];

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (join_path(to, at, row[i][1], err) < 0 || symlink(row[i][0], to) < 0)
			return errprintf(err, "%s: %s", row[i][1], strerror(errno));
	return 0;
}

static int make_device(const struct vnode_device *d, const char *at, struct errbuf *err)
{
	char to[PATH_ROOM];
	struct stat st;

	if (join_path(to, at, d->path, err) < 0)
		return -1;
	/* give the device node the owner and mode that it has on the host */
	if (stat(d->path, &st) < 0 ||
	    mknod(to, (d->block ? S_IFBLK : S_IFCHR) | 0600, makedev(d->major, d->minor)) < 0 ||
	    chown(to, st.st_uid, st.st_gid) < 0 || chmod(to, st.st_mode & 07777) < 0)
		return errprintf(err, "%s: %s", d->path, strerror(errno));
	return 0;
}

static int make_devices(const struct vnode_conf *c, const char *at, struct errbuf *err)
{
	struct vnode_device device[VNODE_DEVICES_MAX];
	int n = vnode_devices(device, c, err);

	for (int i = 0; i < n; i++)
		if (*device[i].path && make_device(&device[i], at, err) < 0)
			return -1;
	return n < 0 ? -1 : 0;
}

static int mount_kernel(const char *type, const char *path, const char *at, const char *options,
			struct errbuf *err)
{
	bool shows = strcmp(type, "sysfs") == 0;
	bool terminals = strcmp(type, "devpts") == 0;
	unsigned long flags = MS_NOSUID | MS_NOEXEC;
	char to[PATH_ROOM];

	if (shows)
		flags |= MS_RDONLY;
	if (!terminals)
		flags |= MS_NODEV;
	if (join_path(to, at, path, err) < 0)
		return -1;
	if (mount(type, to, type, flags, options) < 0)
		return errprintf(err, "%s on %s: %s", type, path, strerror(errno));
	return 0;
}

static int fill_root(const struct vnode_conf *c, char *at, struct errbuf *err)
{
	if (mount_tmpfs("/dev", at, "mode=0755,size=4m", err) < 0 ||
	    mount_tmpfs("/tmp", at, "mode=1777", err) < 0 ||
	    mount_tmpfs("/run", at, "mode=0755", err) < 0 || make_directories(at, err) < 0 ||
	    mount_tmpfs("/dev/shm", at, "mode=1777", err) < 0 || make_links(at, err) < 0 ||
	    make_devices(c, at, err) < 0)
		return -1;
	if (mount_kernel("devpts", "/dev/pts", at, "newinstance,ptmxmode=0666,mode=0620,gid=5",
			 err) < 0 ||
	    mount_kernel("proc", "/proc", at, NULL, err) < 0 ||
	    mount_kernel("sysfs", "/sys", at, NULL, err) < 0)
		return -1;
	if (each_path(c->tmpfs, mount_scratch, at, err) < 0 ||
	    each_path(c->mounts_ro, bind_mount_read_only, at, err) < 0)
		return -1;
	return each_path(c->mounts, bind_mount, at, err);
}

int vnode_root_enter(const struct vnode_conf *c, const char *at, struct errbuf *err)
{
	char to[DIR_PATH_MAX + VNODE_NAME_MAX + 8];

	if ((size_t)snprintf(to, sizeof(to), "%s", at) >= sizeof(to))
		return errprintf(err, "%.100s: path too long", at);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("/", to, NULL, MS_BIND, NULL) < 0)
		return errprintf(err, "%s: %s", to, strerror(errno));
	if (set_read_only(to, err) < 0 || fill_root(c, to, err) < 0)
		return -1;
	/* pivot_root() puts the old root under the new one; unmount it */
	if (chdir(to) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return errprintf(err, "the new root cannot be entered: %s", strerror(errno));
	return 0;
}
