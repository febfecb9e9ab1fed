/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/monotonic.h"

#define FILE_NAME "resize.lock"

int lock_private(const char *state_dir, uint64_t what, long ms, struct errbuf *err)
{
	/*
	 * Lock byte WHAT, which may be behind the end of the file. The descriptor owns the lock,
	 * not the process.
	 */
	struct flock byte = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)what, .l_len = 1
	};
	const struct timespec pause = { 0, 20000000 };
	long start = monotonic_ms();
	int dir = dir_open_private(state_dir, err), fd;

	if (dir < 0)
		return -1;
	fd = openat(dir, FILE_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	close(dir);
	if (fd < 0)
		return errprintf(err, "%s/" FILE_NAME ": %s", state_dir, strerror(errno));
	while (fcntl(fd, F_OFD_SETLK, &byte) < 0) {
		int why = errno;

		if ((why != EAGAIN && why != EACCES && why != EINTR) ||
		    monotonic_ms() - start > ms) {
			close(fd);
			errprintf(err, "%s/" FILE_NAME ": %s", state_dir, strerror(why));
			errno = why == EACCES ? EAGAIN : why;
			return -1;
		}
		nanosleep(&pause, NULL);
	}
	return fd;
}
