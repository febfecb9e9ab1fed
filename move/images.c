/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "move/images.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fileio.h"

uint64_t move_memory_available(void)
{
	char text[8192];
	const char *at;
	uint64_t kb = 0;

	if (file_read(AT_FDCWD, "/proc/meminfo", text, sizeof(text), NULL) < 0)
		return 0;
	at = strstr(text, "MemAvailable:");
	if (at)
		sscanf(at, "MemAvailable: %" SCNu64, &kb);
	return kb * 1024;
}

/* Return whether PATH is in another file system than the directory above it. */
static int is_mount(const char *path)
{
	char above[4096];
	struct stat here, there;

	snprintf(above, sizeof(above), "%s/..", path);
	return lstat(path, &here) == 0 && stat(above, &there) == 0 && here.st_dev != there.st_dev;
}

void move_images_wipe(const char *path)
{
	while (is_mount(path))
		if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
			return;
	(void)rmdir(path);
}

int move_images_open(const char *path, struct errbuf *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct statfs fs;

	if (fd < 0)
		return errprintf(err, "%s: %s", path, strerror(errno));
	if (!is_mount(path) || fstatfs(fd, &fs) < 0 || fs.f_type != TMPFS_MAGIC) {
		close(fd);
		return errprintf(err, "%s: no image is here", path);
	}
	return fd;
}

int move_images_make(const char *path, uint64_t bytes, uint64_t reserve, struct errbuf *err)
{
	uint64_t available = move_memory_available();
	char options[96];
	int n;

	if (available < bytes || available - bytes < reserve)
		return errprintf(err,
				 "an image needs %" PRIu64 " MiB of memory, and %" PRIu64
				 " MiB must stay free: only %" PRIu64 " MiB are available",
				 bytes >> 20, reserve >> 20, available >> 20);
	move_images_wipe(path);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return errprintf(err, "%s: %s", path, strerror(errno));
	n = snprintf(options, sizeof(options), "mode=0700,size=%" PRIu64 ",noswap", bytes);
	if (mount("nodeos", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0) {
		options[n - (int)strlen(",noswap")] = '\0';
		if (mount("nodeos", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0)
			return errprintf(err, "%s: tmpfs: %s", path, strerror(errno));
	}
	return move_images_open(path, err);
}
