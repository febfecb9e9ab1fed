/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* stat() knows no size of a block device, and lseek() one of a directory. */
int64_t file_size(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	if (S_ISREG(st.st_mode))
		return st.st_size;
	if (S_ISBLK(st.st_mode))
		return lseek(fd, 0, SEEK_END);
	errno = EINVAL;
	return -1;
}

int64_t file_head(const char *path, void *head, size_t size, struct errbuf *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return errprintf(err, "%s: %s", path, strerror(errno));
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	n = pread(fd, head, size, 0);
	if (n < 0)
		errprintf(err, "%s: %s", path, strerror(errno));
	close(fd);
	return n;
}

static const struct mapped *watched;

static void tell_bus_error(int sig, siginfo_t *info, void *context)
{
	const char *at = info->si_addr;
	char line[512];
	int len;

	(void)context;
	if (!watched || at < (const char *)watched->data ||
	    at >= (const char *)watched->data + watched->size) {
		signal(sig, SIG_DFL);
		return; /* comes again at once */
	}
	/* a fault of our own reads, not inside of printf: it may be used here */
	len = snprintf(line, sizeof(line), "%.400s: byte %td could not be read (SIGBUS)\n",
		       watched->path, at - (const char *)watched->data);
	if (write(STDERR_FILENO, line, (size_t)len) < 0)
		_exit(2);
	_exit(1);
}

int mapped_open(struct mapped *m, const char *path, uint64_t size, bool random, struct errbuf *err)
{
	struct sigaction bus = { .sa_sigaction = tell_bus_error, .sa_flags = SA_SIGINFO };
	int fd = open(path, O_RDONLY | O_CLOEXEC), result = -1;
	int64_t all;
	void *data;

	if (fd < 0)
		return errprintf(err, "%s: %s", path, strerror(errno));
	all = file_size(fd);
	if (all < 0) {
		errprintf(err, "%s: %s", path,
			  errno == EINVAL ? "neither a regular file nor a block device"
					  : strerror(errno));
	} else if (all == 0 || (uint64_t)all < size) {
		errprintf(err,
			  "%s: has %" PRId64 " bytes, %" PRIu64
			  " belong to it: cut, or not written to its end",
			  path, all, size);
	} else {
		m->size = size ? size : (uint64_t)all;
		m->path = path;
		data = mmap(NULL, m->size, PROT_READ, MAP_SHARED, fd, 0);
		if (data == MAP_FAILED) {
			errprintf(err, "%s: mmap of %" PRIu64 " bytes: %s", path, m->size,
				  strerror(errno));
		} else if (random && madvise(data, m->size, MADV_RANDOM) < 0) {
			errprintf(err, "%s: madvise: %s", path, strerror(errno));
			munmap(data, m->size);
		} else {
			m->data = data;
			watched = m;
			sigaction(SIGBUS, &bus, NULL);
			result = 0;
		}
	}
	close(fd);
	return result;
}

void mapped_close(struct mapped *m)
{
	watched = NULL;
	signal(SIGBUS, SIG_DFL);
	munmap((void *)(uintptr_t)m->data, m->size);
}
