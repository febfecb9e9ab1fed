/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/trusted_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40 /* the kernel's own limit */

/* The state of a walk to a file. */
struct walk {
	const char *path; /* as the caller gave it, for messages */
	uid_t owner;
	unsigned links; /* symbolic links followed so far */
	int dir; /* descriptor of the directory that REST is relative to */
	char rest[PATH_MAX];
};

/*
 * Check that only root and the owner can change the file that ST describes. WHAT begins the
 * message: "" for the file itself, otherwise a text such as "the link's directory: ".
 */
static int trusted_open_check(const struct walk *w, const struct stat *st, const char *what,
			      struct errbuf *err)
{
	bool sticky = S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX);

	errno = EPERM;
	if (st->st_uid != 0 && st->st_uid != w->owner)
		return errprintf(
			err,
			"%.160s: %.100sbelongs to uid %u (allowed: root): run chown root on it",
			w->path, what, (unsigned)st->st_uid);
	if (!S_ISLNK(st->st_mode) && !sticky && (st->st_mode & (S_IWGRP | S_IWOTH)))
		return errprintf(err,
				 "%.160s: %.100sgroup or others can write it (mode %04o): run "
				 "chmod go-w on it",
				 w->path, what, (unsigned)st->st_mode & 07777);
	return 0;
}

static int trusted_open_cannot(const struct walk *w, const char *what, struct errbuf *err)
{
	int error = errno;

	errprintf(err, "%.160s: cannot %s: %s", w->path, what, strerror(error));
	errno = error;
	return -1;
}

static int move_to(struct walk *w, int fd, struct errbuf *err)
{
	struct stat st;

	if (fd < 0)
		return trusted_open_cannot(w, "open", err);
	if (w->dir != AT_FDCWD)
		close(w->dir);
	w->dir = fd;
	if (!w->links)
		return 0;
	if (fstat(fd, &st) < 0)
		return trusted_open_cannot(w, "stat", err);
	return trusted_open_check(w, &st, "a directory on the way: ", err);
}

/* Start at the root directory if REST is absolute, otherwise stay in the present directory. */
static int trusted_open_begin(struct walk *w, struct errbuf *err)
{
	return *w->rest == '/' ? move_to(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), err) : 0;
}

/* Put the target of the symbolic link NAME in front of REST. */
static int trusted_open_follow(struct walk *w, const char *name, struct errbuf *err)
{
	char target[PATH_MAX], joined[2 * PATH_MAX];
	ssize_t n = readlinkat(w->dir, name, target, sizeof(target) - 1);
	struct stat st;

	if (n < 0)
		return trusted_open_cannot(w, "read the link", err);
	target[n] = '\0';
	if (++w->links > LINKS_MAX) {
		errno = ELOOP;
		return trusted_open_cannot(w, "open", err);
	}
	/*
	 * a user that can write the link's directory can replace the link: that directory must be
	 * trusted, too
	 */
	if (fstatat(w->dir, "", &st, AT_EMPTY_PATH) < 0)
		return trusted_open_cannot(w, "stat", err);
	if (trusted_open_check(w, &st, "the link's directory: ", err) < 0)
		return -1;
	snprintf(joined, sizeof(joined), "%s%s%s", target, *w->rest ? "/" : "", w->rest);
	if (strlen(joined) >= sizeof(w->rest)) {
		errno = ENAMETOOLONG;
		return trusted_open_cannot(w, "open", err);
	}
	memcpy(w->rest, joined, strlen(joined) + 1);
	return trusted_open_begin(w, err);
}

/* Move the first component of REST into NAME. Returns false when there is none. */
static bool trusted_open_next(struct walk *w, char name[NAME_MAX + 1])
{
	char *at = w->rest + strspn(w->rest, "/");
	size_t len = strcspn(at, "/");

	if (!len || len > NAME_MAX)
		return false;
	memcpy(name, at, len);
	name[len] = '\0';
	at += len;
	at += strspn(at, "/");
	memmove(w->rest, at, strlen(at) + 1);
	return true;
}

/* Open the file NAME. Without O_NONBLOCK, a named pipe in its place would make root wait. */
static int open_file(struct walk *w, const char *name, struct errbuf *err)
{
	int fd = openat(w->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return trusted_open_cannot(w, "open", err);
	if (fstat(fd, &st) < 0)
		trusted_open_cannot(w, "stat", err);
	else if (!S_ISREG(st.st_mode))
		errprintf(err, "%.160s: is not a regular file", w->path);
	else if (trusted_open_check(w, &st, w->links ? "the file that it leads to: " : "", err) ==
		 0)
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

static int walk_on(struct walk *w, struct errbuf *err)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	char name[NAME_MAX + 1], what[NAME_MAX + 32];
	struct stat st;

	if (trusted_open_begin(w, err) < 0)
		return -1;
	while (trusted_open_next(w, name)) {
		if (fstatat(w->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return trusted_open_cannot(w, "open", err);
		if (S_ISLNK(st.st_mode)) {
			snprintf(what, sizeof(what), "the link %s: ", name);
			if (trusted_open_check(w, &st, what, err) < 0 ||
			    trusted_open_follow(w, name, err) < 0)
				return -1;
		} else if (!*w->rest) {
			return open_file(w, name, err);
		} else if (move_to(w, openat(w->dir, name, flags), err) < 0) {
			return -1;
		}
	}
	errno = EISDIR;
	return errprintf(err, "%.160s: is not a regular file", w->path);
}

int trusted_open(const char *path, uid_t owner, struct errbuf *err)
{
	struct walk w = { .path = path, .owner = owner, .dir = AT_FDCWD };
	int fd, error;

	if (strlen(path) >= sizeof(w.rest)) {
		errno = ENAMETOOLONG;
		return trusted_open_cannot(&w, "open", err);
	}
	memcpy(w.rest, path, strlen(path) + 1);
	fd = walk_on(&w, err);
	error = errno;
	if (w.dir != AT_FDCWD)
		close(w.dir);
	errno = error;
	return fd;
}
