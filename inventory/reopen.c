/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inventory/reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/words.h"

static int open_path(const char *path, unsigned flags, bool links)
{
	struct open_how how = { .flags = flags | O_CLOEXEC,
				.resolve = links ? 0 : RESOLVE_NO_SYMLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* Return NULL, or how the file with status ST differs from F. */
static const char *compare_status(const struct move_file *f, const struct stat *st)
{
	if ((st->st_mode & S_IFMT) != (f->mode & S_IFMT))
		return "it is of another kind there";
	if (st->st_uid != f->uid)
		return "it has another owner there";
	if (f->place == MOVE_SHARED && st->st_ino != f->inode)
		return "it is another file there: is the file system the same on both hosts?";
	if (f->place == MOVE_HOST && S_ISREG(f->mode) &&
	    ((uint64_t)st->st_size != f->size || st->st_mode != f->mode))
		return "that host has another file there";
	return NULL;
}

static int check_reopened(const struct move_file *f, struct errbuf *err)
{
	unsigned access = f->what == MOVE_FD && !(f->flags & O_PATH) ? f->flags & O_ACCMODE
								     : O_RDONLY;
	char path[WORD_QUOTE_MAX];
	const char *reason = NULL;
	struct stat st;
	int fd = open_path(f->path, O_PATH | O_NOFOLLOW, f->place == MOVE_HOST), real = -1;

	if (fd < 0 || fstat(fd, &st) < 0)
		reason = errno == ELOOP ? "a component of the path is a symbolic link there"
					: strerror(errno);
	else
		reason = compare_status(f, &st);
	if (!reason && (S_ISREG(f->mode) || S_ISDIR(f->mode))) {
		real = open_path(f->path, access | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY,
				 f->place == MOVE_HOST);
		if (real < 0)
			reason = strerror(errno);
	}
	if (real >= 0)
		close(real);
	if (fd >= 0)
		close(fd);
	word_quote(path, f->path, strlen(f->path));
	return reason ? errprintf(err, "%s: %s", path, reason) : 0;
}

int move_reopen_check(const struct move_record *r, struct errbuf *err)
{
	const char *last = "";

	for (size_t i = 0; i < r->files; i++) {
		const struct move_file *f = &r->file[i];

		if (f->place != MOVE_SHARED && f->place != MOVE_HOST)
			continue;
		/* mappings of one library follow each other */
		if (f->what != MOVE_FD && strcmp(f->path, last) == 0)
			continue;
		last = f->path;
		if (check_reopened(f, err) < 0)
			return -1;
	}
	return 0;
}
