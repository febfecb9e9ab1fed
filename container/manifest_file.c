/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIFO_WAIT_MS 10000

/* Is the opened file one to read? Also makes its reads wait. */
static int check_kind(int fd, const char *path, struct errbuf *err)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	struct stat st;
	int flags;

	if (fstat(fd, &st) < 0)
		return errprintf(err, "%.200s: cannot stat: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
		return errprintf(err, "%.200s: is %s (allowed: a file or a pipe)", path,
				 S_ISDIR(st.st_mode) ? "a directory" : "a device or a socket");
	if (S_ISREG(st.st_mode) && st.st_size > MANIFEST_SIZE_MAX)
		return errprintf(err, "%.200s: %lld bytes (allowed: %d)", path,
				 (long long)st.st_size, MANIFEST_SIZE_MAX);
	/* A pipe without a writer yet reads as empty, so wait for the first byte or the hang-up. */
	if (S_ISFIFO(st.st_mode) && poll(&wait, 1, FIFO_WAIT_MS) == 0)
		return errprintf(err, "%.200s: nothing was written to this pipe within %d seconds",
				 path, FIFO_WAIT_MS / 1000);
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
		return errprintf(err, "%.200s: cannot set flags: %s", path, strerror(errno));
	return 0;
}

static int read_all(char **text, size_t *len, int fd, const char *path, struct errbuf *err)
{
	const size_t room = MANIFEST_SIZE_MAX + 1; /* one more byte shows that there is too much */
	char *buf = malloc(room + 1);
	char *fitting;
	size_t used = 0;

	if (!buf)
		return errprintf(err, "%.200s: %s", path, strerror(ENOMEM));
	while (used < room) {
		ssize_t n = read(fd, buf + used, room - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			errprintf(err, "%.200s: cannot read: %s", path, strerror(errno));
			free(buf);
			return -1;
		}
		if (n == 0)
			break;
		used += (size_t)n;
	}
	if (used == room) {
		free(buf);
		return errprintf(err, "%.200s: more than %d bytes", path, MANIFEST_SIZE_MAX);
	}
	buf[used] = '\0';
	fitting = realloc(buf, used + 1);
	*text = fitting ? fitting : buf;
	*len = used;
	return 0;
}

int manifest_read_file(char **text, size_t *len, const char *path, struct errbuf *err)
{
	int fd, result;

	if (!*path)
		return errprintf(err, "the manifest's name is empty: give a file");
	/* Standard input may be anything that can be read, a terminal too. */
	if (strcmp(path, "-") == 0)
		return read_all(text, len, STDIN_FILENO, "standard input", err);
	/* Not blocking: opening a named pipe would wait for a writer without end. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errprintf(err, "%.200s: cannot open: %s", path, strerror(errno));
	result = check_kind(fd, path, err);
	if (result == 0)
		result = read_all(text, len, fd, path, err);
	close(fd);
	return result;
}
