/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/lock.h"

#define PATIENCE_MS 10000

static int control_changes_note(const char *path, bool more, struct errbuf *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	char text[32] = "";
	ssize_t n;

	if (fd < 0)
		return errprintf(err, "%s: %s", path, strerror(errno));
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (n < 0)
		goto bad;
	if (n == 0 || more) {
		int len = snprintf(text, sizeof(text), "%llu\n", strtoull(text, NULL, 10) + more);

		if (pwrite(fd, text, (size_t)len, 0) != len)
			goto bad;
	}
	/* whatever the umask is, users must be able to read the file */
	if (fchmod(fd, 0644) < 0)
		goto bad;
	close(fd);
	return 0;
bad:
	errprintf(err, "%s: %s", path, strerror(errno));
	close(fd);
	return -1;
}

int changes_note(const char *path, const char *state_dir, bool more, struct errbuf *err)
{
	struct stat st;
	int lock, rc;

	if (!more && ((lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
		       (st.st_mode & 0444) == 0444) ||
		      access(state_dir, F_OK) < 0))
		return 0;
	lock = lock_private(state_dir, PRIVATE_LOCK_CHANGES, PATIENCE_MS, err);
	if (lock < 0)
		return -1;
	rc = control_changes_note(path, more, err);
	close(lock);
	return rc;
}
