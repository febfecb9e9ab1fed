/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/agent/mounts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOT "/host"
#define WORK "/work"
#define FLAGS (MS_NOSUID | MS_NODEV)

void agent_mount_kernel(void)
{
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/dev", 0755);
	mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", MS_NOSUID, NULL);
}

/* Make the missing directories of PATH, in memory that covers the host's directory. */
static void make_covered(char *path)
{
	for (char *p = path + 1; *p; p++)
		if (*p == '/') {
			*p = '\0';
			mkdir(path, 0755);
			*p = '/';
		}
	mkdir(path, 0755);
}

static int mount_memory(const char *path, const char *options)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return 0; /* the host has no such directory */
	return mount("tmpfs", path, "tmpfs", FLAGS, options);
}

/* Bind the working directory to WORK before memory may cover it. */
static const char *take_directory(const char *directory)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), ROOT "%s", directory);
	mkdir(WORK, 0755);
	if (mount(path, WORK, NULL, MS_BIND, NULL) < 0)
		return directory;
	if (mount(NULL, WORK, NULL, MS_REMOUNT | MS_BIND | FLAGS, NULL) < 0)
		return "a working directory to write in";
	return NULL;
}

static const char *put_directory(const char *directory)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), ROOT "%s", directory);
	make_covered(path);
	return mount(WORK, path, NULL, MS_MOVE, NULL) < 0 ? directory : NULL;
}

static const char *mount_rest(void)
{
	static const char *const moved[] = { "/proc", "/sys", "/dev" };
	char path[64];

	if (mount_memory(ROOT "/tmp", "mode=1777") < 0 || mount_memory(ROOT "/run", "mode=755") < 0)
		return "memory for /tmp and /run";
	for (unsigned i = 0; i < sizeof(moved) / sizeof(moved[0]); i++) {
		snprintf(path, sizeof(path), ROOT "%s", moved[i]);
		if (mount(moved[i], path, NULL, MS_MOVE, NULL) < 0)
			return moved[i];
	}
	mkdir(ROOT "/dev/shm", 01777);
	mkdir(ROOT "/dev/pts", 0755);
	mount("devpts", ROOT "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "ptmxmode=0666");
	return mount_memory(ROOT "/dev/shm", "mode=1777") < 0 ? "memory for /dev/shm" : NULL;
}

const char *agent_mount_root(const char *directory)
{
	int writes = strcmp(directory, "/") != 0;
	const char *failed = NULL;

	mkdir(ROOT, 0755);
	if (mount("root", ROOT, "virtiofs", FLAGS, NULL) < 0)
		return "the host's files (virtiofs)";
	if (mount(NULL, ROOT, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | FLAGS, NULL) < 0)
		return "the host's files, to read only";
	if (writes)
		failed = take_directory(directory);
	if (!failed)
		failed = mount_rest();
	if (!failed && writes)
		failed = put_directory(directory);
	if (failed)
		return failed;
	if (chdir(ROOT) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
	    chdir("/") < 0)
		return "the new root";
	return NULL;
}
