/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIFO_WAIT_MS 10000

int textfile_close(FILE *f, struct stat *emptied)
{
	int bad = fflush(f) != 0 || ferror(f) ? (errno ? errno : EIO) : 0;
	/*
	 * A file system may report an error only at the close. KEPT, a copy of the descriptor, can
	 * still empty the file then.
	 */
	int kept = fcntl(fileno(f), F_DUPFD_CLOEXEC, 3);

	if (fclose(f) != 0 && !bad)
		bad = errno;
	emptied->st_mode = 0;
	if (bad && (kept < 0 || fstat(kept, emptied) < 0 || !S_ISREG(emptied->st_mode) ||
		    ftruncate(kept, 0) < 0))
		emptied->st_mode = 0;
	if (kept >= 0)
		close(kept);
	errno = bad;
	return bad ? -1 : 0;
}

static int to_stdout(const char *text, size_t len, struct errbuf *err)
{
	if (fwrite(text, 1, len, stdout) == len && fflush(stdout) == 0)
		return 0;
	errprintf(err, "standard output: %s", strerror(errno));
	/* no later check of stdout may report this error again */
	clearerr(stdout);
	return -1;
}

int textfile_write(const char *path, const char *text, size_t len, struct errbuf *err)
{
	struct stat mine, there;
	FILE *f;

	if (strcmp(path, "-") == 0)
		return to_stdout(text, len, err);
	f = fopen(path, "we");
	if (!f)
		return errprintf(err, "%s: %s", path, strerror(errno));
	fwrite(text, 1, len, f);
	if (textfile_close(f, &mine) == 0)
		return 0;
	errprintf(err, "%s: %s", path, strerror(errno));
	/* remove the file, but not a symbolic link to it */
	if (mine.st_mode && lstat(path, &there) == 0 && there.st_dev == mine.st_dev &&
	    there.st_ino == mine.st_ino)
		unlink(path);
	return -1;
}

/*
 * Check that FD is a file of at most MAX bytes or a pipe. *WAIT_MS gets the milliseconds that each
 * read may wait; -1: no limit.
 */
static int textfile_check_kind(int *wait_ms, int fd, const char *path, size_t max,
			       struct errbuf *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return errprintf(err, "%.200s: cannot stat: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
		return errprintf(err, "%.200s is %s (allowed: a file or a pipe)", path,
				 S_ISDIR(st.st_mode) ? "a directory" : "a device or a socket");
	if (S_ISREG(st.st_mode) && (uint64_t)st.st_size > max)
		return errprintf(err, "%.200s has %lld bytes (allowed: %zu)", path,
				 (long long)st.st_size, max);
	*wait_ms = S_ISFIFO(st.st_mode) ? FIFO_WAIT_MS : -1;
	return 0;
}

/*
 * As read(2), with a time limit. A pipe that has no writer yet reads as empty, so wait for its
 * first byte or the hang-up. The limit ends the wait for a writer that stops and never closes the
 * pipe.
 */
static ssize_t textfile_read_some(int fd, char *buf, size_t size, int wait_ms)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	ssize_t n;

	do {
		if (wait_ms >= 0 && poll(&wait, 1, wait_ms) == 0) {
			errno = ETIMEDOUT;
			return -1;
		}
		n = read(fd, buf, size);
	} while (n < 0 && (errno == EINTR || (errno == EAGAIN && wait_ms >= 0)));
	return n;
}

static int cannot_read(const char *path, size_t used, struct errbuf *err)
{
	if (errno == ETIMEDOUT)
		return errprintf(err,
				 "%.200s: nothing%s was written to this pipe within %d seconds%s",
				 path, used ? " more" : "", FIFO_WAIT_MS / 1000,
				 used ? ", and it was not closed" : "");
	return errprintf(err, "%.200s: cannot read: %s", path, strerror(errno));
}

/* An open file for textfile_read(). */
struct source {
	const char *path; /* for messages */
	int fd;
	int wait_ms; /* as in textfile_read_some() */
	size_t max;
};

/* Read the whole file into a buffer that doubles as needed: most files are far below the limit. */
static int textfile_read_all(char **text, size_t *len, const struct source *s, struct errbuf *err)
{
	size_t used = 0, capacity = 1u << 16;
	char *buf = malloc(capacity), *more;

	while (buf && used <= s->max) {
		ssize_t n = textfile_read_some(s->fd, buf + used, capacity - used - 1, s->wait_ms);

		if (n < 0) {
			cannot_read(s->path, used, err);
			free(buf);
			return -1;
		}
		if (n == 0)
			break;
		used += (size_t)n;
		if (used < capacity - 1)
			continue;
		more = realloc(buf, capacity * 2);
		if (!more)
			free(buf);
		buf = more;
		capacity *= 2;
	}
	if (!buf)
		return errprintf(err, "%.200s: %s", s->path, strerror(ENOMEM));
	if (used > s->max) {
		free(buf);
		return errprintf(err, "%.200s has more than %zu bytes", s->path, s->max);
	}
	buf[used] = '\0';
	more = realloc(buf, used + 1);
	*text = more ? more : buf;
	*len = used;
	return 0;
}

int textfile_read(char **text, size_t *len, const char *path, size_t max, struct errbuf *err)
{
	struct source s = { .path = path, .max = max };
	int rc;

	/* standard input may be of any kind, such as a terminal, and has no time limit */
	if (strcmp(path, "-") == 0)
		return textfile_read_all(
			text, len, &(struct source){ "standard input", STDIN_FILENO, -1, max },
			err);
	/* without O_NONBLOCK, opening a named pipe waits without limit for a writer */
	s.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (s.fd < 0)
		return errprintf(err, "%.200s: cannot open: %s", path, strerror(errno));
	rc = textfile_check_kind(&s.wait_ms, s.fd, path, max, err);
	if (rc == 0)
		rc = textfile_read_all(text, len, &s, err);
	close(s.fd);
	return rc;
}
