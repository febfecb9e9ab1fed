/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/owned_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/trusted_open.h"

/* Read FD to its end, SIZE bytes at most. Returns the number of bytes, or -1. */
static ssize_t read_to_end(int fd, char *buf, size_t size)
{
	size_t used = 0;

	while (used < size) {
		ssize_t n = read(fd, buf + used, size - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	return (ssize_t)used;
}

int owned_file_read(char **text, size_t *len, const char *path, uid_t owner, size_t max,
		    struct errbuf *err)
{
	int fd = trusted_open(path, owner, err), error;
	struct stat st;
	ssize_t n = -1;

	*text = NULL;
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0) {
		size_t size = st.st_size < 0 || (size_t)st.st_size > max ? max : (size_t)st.st_size;

		/* the attempt to read one more byte shows whether the file has grown */
		*text = malloc(size + 2);
		if (*text)
			n = read_to_end(fd, *text, size + 1);
		if (n > (ssize_t)size) {
			errno = EFBIG;
			n = -1;
		}
	}
	error = errno;
	close(fd);
	if (n < 0) {
		free(*text);
		*text = NULL;
		errprintf(err, "%.200s: %s", path, strerror(error));
		errno = error;
		return -1;
	}
	(*text)[n] = '\0';
	*len = (size_t)n;
	return 0;
}
