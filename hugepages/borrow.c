/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hugepages/borrow.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/proc.h"

int borrow_descriptor(pid_t pid, uint64_t number, int fd, struct errbuf *err)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0), copy = -1;

	if (process >= 0 && process_number(pid) == number)
		copy = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	/* pidfd_getfd() gives descriptors that execve() closes */
	if (copy >= 0 && fcntl(copy, F_SETFD, 0) < 0) {
		close(copy);
		copy = -1;
	}
	if (copy < 0)
		errprintf(err, "process %d has ended", (int)pid);
	if (process >= 0)
		close(process);
	return copy;
}
