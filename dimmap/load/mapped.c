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

/*
 * Use lseek() for block devices, since stat() reports no size for them, and only for block devices,
 * since lseek() also returns a size for directories.
 */
static int64_t mapped_file_size(int fd)
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
		/* after the return the fault repeats, and the default action ends the program */
		return;
	}
	/* the program's own read or write has faulted, not printf, so printf is safe here */
	len = snprintf(line, sizeof(line),
		       "%.400s: byte %td could not be read or written (SIGBUS)\n", watched->path,
		       at - (const char *)watched->data);
	if (write(STDERR_FILENO, line, (size_t)len) < 0)
		_exit(2);
	_exit(1);
}

/* Map the first SIZE bytes (0: all) of M's file FD. */
static int mapped_map(struct mapped *m, int fd, uint64_t size, unsigned how, struct errbuf *err)
{
	struct sigaction bus = { .sa_sigaction = tell_bus_error, .sa_flags = SA_SIGINFO };
	int64_t all = mapped_file_size(fd);
	void *data;

	if (all < 0)
		return errprintf(err, "%s: %s", m->path,
				 errno == EINVAL ? "neither a regular file nor a block device"
						 : strerror(errno));
	if (all == 0 || (uint64_t)all < size)
		return errprintf(err,
				 "%s: is %" PRId64 " bytes long, expected %" PRIu64
				 ": truncated or not completely written",
				 m->path, all, size);
	m->size = size ? size : (uint64_t)all;
	data = mmap(NULL, m->size, PROT_READ | (m->writes ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		return errprintf(err, "%s: mmap of %" PRIu64 " bytes: %s", m->path, m->size,
				 strerror(errno));
	if (how & MAPPED_RANDOM && madvise(data, m->size, MADV_RANDOM) < 0) {
		errprintf(err, "%s: madvise: %s", m->path, strerror(errno));
		munmap(data, m->size);
		return -1;
	}
	m->data = data;
	watched = m;
	sigaction(SIGBUS, &bus, NULL);
	return 0;
}

int mapped_open(struct mapped *m, const char *path, uint64_t size, unsigned how, struct errbuf *err)
{
	int fd = open(path, (how & MAPPED_WRITE ? O_RDWR : O_RDONLY) | O_CLOEXEC), result;

	if (fd < 0)
		return errprintf(err, "%s: %s", path, strerror(errno));
	*m = (struct mapped){ .path = path, .writes = (how & MAPPED_WRITE) != 0 };
	result = mapped_map(m, fd, size, how, err);
	close(fd);
	return result;
}

/*
 * Allocate the file's blocks, so that a full disk is an error here, not a SIGBUS later. Returns 0
 * or an errno.
 */
static int mapped_make_room(int fd, uint64_t size)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	if (ftruncate(fd, (off_t)size) == 0)
		return posix_fallocate(fd, 0, (off_t)size);
	/* dimmapfs refuses to change a file's size */
	return errno == EPERM && (uint64_t)st.st_size >= size ? 0 : errno;
}

int mapped_create(struct mapped *m, const char *path, uint64_t size, struct errbuf *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666), error, result;

	error = fd < 0 ? errno : mapped_make_room(fd, size);
	*m = (struct mapped){ .path = path, .writes = true };
	result = error ? errprintf(err, "%s: %s", path, strerror(error))
		       : mapped_map(m, fd, size, 0, err);
	if (fd >= 0)
		close(fd);
	return result;
}

int mapped_close(struct mapped *m, struct errbuf *err)
{
	int error = m->writes && msync(m->data, m->size, MS_SYNC) < 0 ? errno : 0;

	watched = NULL;
	signal(SIGBUS, SIG_DFL);
	munmap(m->data, m->size);
	return error ? errprintf(err, "%s: %s", m->path, strerror(error)) : 0;
}
