/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int file_read(int dir_fd, const char *name, char *buf, size_t size, struct errbuf *err)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t used = 0;
	int saved;

	if (fd < 0)
		return errprintf(err, "%s: %s", name, strerror(errno));
	for (;;) {
		ssize_t n = read(fd, buf + used, size - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			errprintf(err, "%s: %s", name, strerror(errno));
			break;
		}
		if (n == 0) {
			close(fd);
			buf[used] = '\0';
			return (int)used;
		}
		used += (size_t)n;
		if (used == size) {
			errprintf(err, "%s: the file is longer than %zu bytes", name, size - 1);
			errno = EOVERFLOW;
			break;
		}
	}
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

int dir_open_private(const char *path, struct errbuf *err)
{
	struct stat st;
	int fd;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return errprintf(err, "%s: %s", path, strerror(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		errprintf(err, "%s: %s", path, strerror(errno));
	} else if (st.st_uid != geteuid() || (st.st_mode & 077)) {
		errprintf(err, "%s: the directory must belong to uid %u and have mode 0700", path,
			  (unsigned)geteuid());
	} else {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

int write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int file_replace(int dir_fd, const char *name, const char *text, unsigned mode, struct errbuf *err)
{
	char tmp[256];
	int fd;

	if ((size_t)snprintf(tmp, sizeof(tmp), ".%s.new", name) >= sizeof(tmp))
		return errprintf(err, "%s: the file's name is too long", name);
	unlinkat(dir_fd, tmp, 0); /* an earlier writer may have died before the rename */
	fd = openat(dir_fd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return errprintf(err, "%s: %s", name, strerror(errno));
	if (write_all(fd, text, strlen(text)) < 0) {
		errprintf(err, "%s: %s", name, strerror(errno));
		close(fd);
		goto undo;
	}
	if (close(fd) < 0 || renameat(dir_fd, tmp, dir_fd, name) < 0) {
		errprintf(err, "%s: %s", name, strerror(errno));
		goto undo;
	}
	return 0;
undo:
	unlinkat(dir_fd, tmp, 0);
	return -1;
}

int file_read_head(const char *path, char *buf, size_t size)
{
	struct stat st;
	size_t used = 0;
	ssize_t n = 1;
	int fd;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -1;
	while (n > 0 && used < size) {
		n = read(fd, buf + used, size - used);
		used += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	return n < 0 ? -1 : (int)used;
}

int file_read_line(const char *path, char *buf, size_t size)
{
	int n = file_read_head(path, buf, size - 1);

	if (n < 0)
		return -1;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}
