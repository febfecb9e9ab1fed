/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "container/changes.h"

int changes_note(bool more, struct errbuf *err)
{
	int fd = open(CHANGES_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	char text[32] = "";
	ssize_t n;

	if (fd < 0)
		return errprintf(err, CHANGES_FILE ": %s", strerror(errno));
	/* whatever the umask; users read it */
	if (fchmod(fd, 0644) < 0 || flock(fd, LOCK_EX) < 0)
		goto bad;
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (n < 0)
		goto bad;
	if (n == 0 || more) {
		int len = snprintf(text, sizeof(text), "%llu\n", strtoull(text, NULL, 10) + more);

		if (pwrite(fd, text, (size_t)len, 0) != len)
			goto bad;
	}
	close(fd);
	return 0;
bad:
	errprintf(err, CHANGES_FILE ": %s", strerror(errno));
	close(fd);
	return -1;
}
