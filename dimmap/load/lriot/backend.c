/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/lriot/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dimmap/load/lriot/guard.h"

/* ------------------------------------------------------------------ by system calls */

static int fd_open(struct target *t, struct errbuf *err)
{
	(void)t;
	(void)err;
	return 0;
}

static int fd_read(struct target *t, uint64_t *to, uint64_t offset, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pread(t->fd, (char *)to + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno != EINTR)
			return errno;
		if (n == 0)
			return ENODATA; /* shorter than it was */
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int fd_write(struct target *t, const uint64_t *from, uint64_t offset, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(t->fd, (const char *)from + done, len - done,
				   (off_t)(offset + done));

		if (n < 0 && errno != EINTR)
			return errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int fd_sync(struct target *t)
{
	return fsync(t->fd) < 0 ? errno : 0;
}

/* --------------------------------------------------------------------- by a mapping */

static int map_open(struct target *t, struct errbuf *err)
{
	void *at =
		mmap(NULL, t->size, PROT_READ | (t->writes ? PROT_WRITE : 0), MAP_SHARED, t->fd, 0);

	if (at == MAP_FAILED)
		return errprintf(err, "%s: mmap of %" PRIu64 " bytes: %s", t->path, t->size,
				 strerror(errno));
	if (madvise(at, t->size, t->backend->advice) < 0) {
		errprintf(err, "%s: madvise: %s", t->path, strerror(errno));
		munmap(at, t->size);
		return -1;
	}
	t->map = at;
	return 0;
}

/* SIGSEGV in a mapping that is disturbed: what is away comes back soon. */
static int map_read(struct target *t, uint64_t *to, uint64_t offset, size_t len)
{
	int sig;

	while ((sig = guarded_load(to, t->map + offset, len / 8, t->disturbed)) == SIGSEGV)
		sched_yield();
	return sig ? GOT_SIGBUS : 0;
}

static int map_write(struct target *t, const uint64_t *from, uint64_t offset, size_t len)
{
	int sig;

	while ((sig = guarded_store(t->map + offset, from, len / 8, t->disturbed)) == SIGSEGV)
		sched_yield();
	return sig ? GOT_SIGBUS : 0;
}

static int map_sync(struct target *t)
{
	return msync(t->map, t->size, MS_SYNC) < 0 ? errno : 0;
}

/* ----------------------------------------------------------------------------- all */

static const struct backend backends[] = {
	{ "mmap", true, 0, MADV_NORMAL, map_open, map_read, map_write, map_sync },
	{ "mmap-rand", true, 0, MADV_RANDOM, map_open, map_read, map_write, map_sync },
	{ "mmap-seq", true, 0, MADV_SEQUENTIAL, map_open, map_read, map_write, map_sync },
	{ "std", false, 0, 0, fd_open, fd_read, fd_write, fd_sync },
	{ "direct", false, O_DIRECT, 0, fd_open, fd_read, fd_write, fd_sync },
};

const struct backend *backend_by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++)
		if (strcmp(backends[i].name, name) == 0)
			return &backends[i];
	return NULL;
}

int target_open(struct target *t, const struct backend *backend, const char *path, uint64_t size,
		bool writes, struct errbuf *err)
{
	*t = (struct target){ .backend = backend, .path = path, .size = size, .writes = writes };
	t->fd = open(path, (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | backend->flags);
	if (t->fd < 0)
		return errprintf(err, "%s: cannot be opened%s: %s", path,
				 backend->flags & O_DIRECT ? " for direct I/O" : "",
				 strerror(errno));
	if (backend->open(t, err) < 0) {
		close(t->fd);
		return -1;
	}
	return 0;
}

void target_close(struct target *t)
{
	if (t->map)
		munmap(t->map, t->size);
	close(t->fd);
}
