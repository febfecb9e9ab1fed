/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limits/io_limit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "host/cgroup.h"

/* Does LIST, names with blanks between them, have NAME? */
static bool has_word(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (; *list; list += strspn(list, " \n")) {
		size_t n = strcspn(list, " \n");

		if (n == len && strncmp(list, name, len) == 0)
			return true;
		list += n;
	}
	return false;
}

static bool has_controller(int cgroup_fd, const char *path, const char *file,
			   const char *controller)
{
	struct errbuf ignored;
	char text[256];

	return cgroup_read(cgroup_fd, path, file, text, sizeof(text), &ignored) == 0 &&
	       has_word(text, controller);
}

bool io_limit_has_controller(int cgroup_fd, const char *controller)
{
	return has_controller(cgroup_fd, ".", "cgroup.controllers", controller);
}

int io_limit_enable(int cgroup_fd, const char *top, const char *path, struct errbuf *err)
{
	char at[CGROUP_PATH_MAX];
	size_t len = strlen(top);

	if (!cgroup_below(path, top) || strlen(path) >= sizeof(at))
		return errprintf(err, "cgroup %s is not below %s, or its path is too long", path,
				 top);
	if (!has_controller(cgroup_fd, top, "cgroup.controllers", "io"))
		return errprintf(err, "cgroup %s has no io controller (cgroup.controllers)", top);
	strcpy(at, path);
	while (path[len]) {
		at[len] = '\0';
		if (!has_controller(cgroup_fd, at, "cgroup.subtree_control", "io") &&
		    cgroup_write(cgroup_fd, at, "cgroup.subtree_control", "+io", err) < 0)
			return -1;
		at[len] = '/';
		len += 1 + strcspn(path + len + 1, "/");
	}
	return 0;
}

/* Read FILE of the block device NAME to BUF, without its newline. */
static int read_device(int dir, const char *name, const char *file, char *buf, size_t size)
{
	char path[300];
	struct errbuf ignored;

	snprintf(path, sizeof(path), "%.200s/%s", name, file);
	if (file_read(dir, path, buf, size, &ignored) < 0)
		return -1;
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

static void put_number(char *text, size_t size, const char *name, uint64_t value)
{
	size_t used = strlen(text);

	if (value)
		snprintf(text + used, size - used, " %s=%" PRIu64, name, value);
}

/* Limit one device, "MAJOR:MINOR". Returns 1, 0 if it has gone, or -1. */
static int limit_device(int cgroup_fd, const char *path, const char *device,
			const struct io_limit *limit, struct errbuf *err)
{
	char text[160];

	snprintf(text, sizeof(text), "%.32s", device);
	put_number(text, sizeof(text), "rbps", limit->bandwidth);
	put_number(text, sizeof(text), "wbps", limit->bandwidth);
	put_number(text, sizeof(text), "riops", limit->iops);
	put_number(text, sizeof(text), "wiops", limit->iops);
	if (cgroup_write(cgroup_fd, path, "io.max", text, err) == 0)
		return 1;
	return errno == ENODEV || errno == ENXIO ? 0 : -1;
}

int io_limit_set(int cgroup_fd, const char *path, const char *root, const struct io_limit *limit,
		 struct errbuf *err)
{
	char name[4096], device[64], sectors[32];
	struct dirent *e;
	int n = 0, one = 0;
	DIR *dir;

	snprintf(name, sizeof(name), "%.4000s/sys/block", root);
	dir = opendir(name);
	if (!dir)
		return errprintf(err, "%s: %s", name, strerror(errno));
	while (one >= 0 && (e = readdir(dir)) != NULL) {
		if (e->d_name[0] == '.' ||
		    read_device(dirfd(dir), e->d_name, "size", sectors, sizeof(sectors)) < 0 ||
		    strcmp(sectors, "0") == 0 ||
		    read_device(dirfd(dir), e->d_name, "dev", device, sizeof(device)) < 0)
			continue;
		one = limit_device(cgroup_fd, path, device, limit, err);
		n += one > 0;
	}
	closedir(dir);
	return one < 0 ? -1 : n;
}
