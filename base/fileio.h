/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_FILEIO_H
#define NODEOS_BASE_FILEIO_H

#include <stddef.h>

#include "base/errbuf.h"

/* bytes of a directory's name in our configuration, with the final NUL */
#define DIR_PATH_MAX 128

/*
 * Read the whole of NAME below DIR_FD into BUF as a NUL-terminated text; returns
 * its length. A file that does not fit in SIZE - 1 bytes is an error, not a cut.
 * -1 with errno, which is EOVERFLOW then.
 */
int file_read(int dir_fd, const char *name, char *buf, size_t size, struct errbuf *err);

/*
 * Open the directory PATH, made with mode 0700 when missing. It must be the caller's own and
 * closed to others, who could otherwise put links where root writes. Returns its fd.
 */
int dir_open_private(const char *path, struct errbuf *err);

/*
 * Replace NAME below DIR_FD by TEXT: written beside it, mode MODE, then renamed,
 * so that a reader sees the old or the new text whole, and a full disk keeps the old.
 */
int file_replace(int dir_fd, const char *name, const char *text, unsigned mode, struct errbuf *err);

/* Write all LEN bytes to FD, through short writes and EINTR; 0 or -1 with errno. */
int write_all(int fd, const void *data, size_t len);

/*
 * The first SIZE bytes at most of the regular file PATH, of which nobody knows what it is: no pipe
 * or device is opened. Returns how many, or -1.
 */
int file_read_head(const char *path, char *buf, size_t size);

/* The first line of such a file, without its end and cut to SIZE with the final NUL. 0, or -1. */
int file_read_line(const char *path, char *buf, size_t size);

#endif
