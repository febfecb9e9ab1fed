/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "move/wire.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/monotonic.h"

void wire_open(struct wire *w, int in, int out, unsigned seconds)
{
	w->in = in;
	w->out = out;
	w->seconds = seconds;
	w->start = w->end = 0;
}

/* Wait until FD is ready for EVENTS, until END (monotonic_ms). Returns 0 or -1. */
static int wait_ready(int fd, short events, long end, struct errbuf *err)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = events };
		long left = end - monotonic_ms();
		int n = left > 0 ? poll(&p, 1, (int)left) : 0;

		if (n > 0)
			return 0;
		if (n == 0)
			return errprintf(err, "the other host does not answer");
		if (errno != EINTR)
			return errprintf(err, "connection: %s", strerror(errno));
	}
}

int wire_put(struct wire *w, const void *data, size_t len, struct errbuf *err)
{
	const char *at = data;

	while (len) {
		/* one block at a time: the limit is for each block */
		size_t part = len < sizeof(w->buf) ? len : sizeof(w->buf);
		ssize_t n;

		if (wait_ready(w->out, POLLOUT, monotonic_ms() + 1000l * w->seconds, err) < 0)
			return -1;
		n = write(w->out, at, part);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return errprintf(err, "connection: %s", strerror(errno));
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int wire_say(struct wire *w, struct errbuf *err, const char *fmt, ...)
{
	char line[WIRE_LINE_MAX + 1];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, WIRE_LINE_MAX, fmt, ap);
	va_end(ap);
	if (n < 0 || n >= WIRE_LINE_MAX)
		return errprintf(err, "a line to the other host is too long");
	for (char *c = line; *c; c++)
		if (*c == '\n')
			*c = ' ';
	line[n] = '\n';
	return wire_put(w, line, (size_t)n + 1, err);
}

/* Read what has arrived into the buffer. Returns 0; 1: the connection has ended; -1. */
static int fill_buffer(struct wire *w, struct errbuf *err)
{
	ssize_t n;

	memmove(w->buf, w->buf + w->start, w->end - w->start);
	w->end -= w->start;
	w->start = 0;
	if (wait_ready(w->in, POLLIN, monotonic_ms() + 1000l * w->seconds, err) < 0)
		return -1;
	do
		n = read(w->in, w->buf + w->end, sizeof(w->buf) - w->end);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errprintf(err, "connection: %s", strerror(errno));
	w->end += (size_t)n;
	return n == 0;
}

int wire_hear(struct wire *w, char line[WIRE_LINE_MAX], struct errbuf *err)
{
	for (;;) {
		char *from = w->buf + w->start, *stop = memchr(from, '\n', w->end - w->start);
		size_t n = stop ? (size_t)(stop - from) : w->end - w->start;
		int rc;

		if (n >= WIRE_LINE_MAX)
			return errprintf(err, "the other host sends a line that is too long");
		if (stop) {
			memcpy(line, from, n);
			line[n] = '\0';
			w->start += n + 1;
			return strlen(line) == n
				       ? 0
				       : errprintf(err, "the other host sends a line with a NUL");
		}
		rc = fill_buffer(w, err);
		if (rc > 0 && w->end > w->start)
			return errprintf(err, "the connection has ended within a line");
		if (rc != 0)
			return rc;
	}
}

int wire_take(struct wire *w, void *data, size_t len, struct errbuf *err)
{
	char *to = data;

	while (len) {
		size_t n = w->end - w->start < len ? w->end - w->start : len;
		int rc;

		memcpy(to, w->buf + w->start, n);
		w->start += n;
		to += n;
		len -= n;
		if (!len)
			break;
		rc = fill_buffer(w, err);
		if (rc > 0)
			errprintf(err, "the connection has ended");
		if (rc != 0)
			return -1;
	}
	return 0;
}

/* Return whether NAME may be a file of an image: CRIU's names have these characters only. */
static bool valid_image_name(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_.";

	return name[0] != '\0' && name[0] != '.' && strlen(name) < WIRE_NAME_MAX &&
	       strspn(name, allowed) == strlen(name);
}

/*
 * Return whether the file NAME is sent. Logs stay on their own host, and so do the gate's notes
 * except the record.
 */
static bool is_sent(const char *name)
{
	size_t n = strlen(name);

	return valid_image_name(name) && !(n > 4 && strcmp(name + n - 4, ".log") == 0) &&
	       (strncmp(name, "nodeos-", 7) != 0 || strcmp(name, "nodeos-record") == 0);
}

struct file_list {
	char (*name)[WIRE_NAME_MAX];
	uint64_t *size, total;
	unsigned n;
};

static int list_files(struct file_list *l, int dir, struct errbuf *err)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int rc = 0;

	l->name = calloc(WIRE_FILES_MAX, sizeof(*l->name));
	l->size = calloc(WIRE_FILES_MAX, sizeof(*l->size));
	if (!d || !l->name || !l->size)
		rc = errprintf(err, "image: %s", strerror(errno));
	while (rc == 0 && (e = readdir(d))) {
		struct stat st;

		if (!is_sent(e->d_name) || fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		if (l->n == WIRE_FILES_MAX) {
			rc = errprintf(err, "image: more than %d files", WIRE_FILES_MAX);
			break;
		}
		strcpy(l->name[l->n], e->d_name);
		l->size[l->n++] = (uint64_t)st.st_size;
		l->total += (uint64_t)st.st_size;
	}
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	return rc;
}

/* Send SIZE bytes of the open file FD. Add them to *SENT, and report to PROGRESS. */
static int send_bytes(struct wire *w, int fd, uint64_t size, const struct file_list *l,
		      uint64_t *sent, const struct wire_progress *progress)
{
	static char block[1 << 18];

	while (size) {
		ssize_t n = read(fd, block, size < sizeof(block) ? (size_t)size : sizeof(block));

		if (n <= 0 || wire_put(w, block, (size_t)n, NULL) < 0)
			return -1;
		size -= (uint64_t)n;
		*sent += (uint64_t)n;
		if (progress)
			progress->sent(progress->arg, *sent, l->total);
	}
	return 0;
}

int wire_send_image(struct wire *w, int dir, const struct wire_progress *progress,
		    struct errbuf *err)
{
	struct file_list l = { 0 };
	uint64_t sent = 0;
	int rc = list_files(&l, dir, err);

	if (rc == 0)
		rc = wire_say(w, err, "image %u %" PRIu64, l.n, l.total);
	for (unsigned i = 0; rc == 0 && i < l.n; i++) {
		int fd = openat(dir, l.name[i], O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

		rc = fd < 0 ? errprintf(err, "image: %s: %s", l.name[i], strerror(errno))
			    : wire_say(w, err, "%" PRIu64 " %s", l.size[i], l.name[i]);
		if (rc == 0 && send_bytes(w, fd, l.size[i], &l, &sent, progress) < 0)
			rc = errprintf(err, "image: %s: the connection has ended", l.name[i]);
		if (fd >= 0)
			close(fd);
	}
	free(l.name);
	free(l.size);
	return rc;
}

/* Take SIZE bytes into a new file NAME. */
static int take_file(struct wire *w, int dir, const char *name, uint64_t size, struct errbuf *err)
{
	static char block[1 << 18];
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int rc = 0;

	if (fd < 0)
		return errprintf(err, "image: %s: %s", name, strerror(errno));
	while (rc == 0 && size) {
		size_t n = size < sizeof(block) ? (size_t)size : sizeof(block);

		rc = wire_take(w, block, n, err);
		if (rc == 0 && write_all(fd, block, n) < 0)
			rc = errprintf(err, "image: %s: %s", name, strerror(errno));
		size -= n;
	}
	close(fd);
	return rc;
}

int wire_take_image(struct wire *w, const char *line, int dir, uint64_t max, struct errbuf *err)
{
	char head[WIRE_LINE_MAX], name[WIRE_NAME_MAX];
	uint64_t total, size, left;
	unsigned files;
	int rc;

	if (sscanf(line, "image %u %" SCNu64, &files, &total) != 2 || files > WIRE_FILES_MAX)
		return errprintf(err, "the other host announces no image");
	if (total > max)
		return errprintf(err,
				 "image: %" PRIu64 " MiB are more than the %" PRIu64
				 " MiB that were announced",
				 total >> 20, max >> 20);
	left = total;
	for (unsigned i = 0; i < files; i++) {
		rc = wire_hear(w, head, err);
		if (rc)
			return rc < 0 ? errwrap(err, "image")
				      : errprintf(err, "image: the connection has ended");
		if (sscanf(head, "%" SCNu64 " %95s", &size, name) != 2 || !valid_image_name(name) ||
		    !is_sent(name) || size > left)
			return errprintf(err, "image: the line of file %u is not valid", i + 1);
		if (take_file(w, dir, name, size, err) < 0)
			return -1;
		left -= size;
	}
	return left ? errprintf(err, "image: incomplete") : 0;
}
