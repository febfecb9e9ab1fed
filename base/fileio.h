/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_FILEIO_H
#define NODEOS_BASE_FILEIO_H

#include <stddef.h>

#include "base/errbuf.h"

/* bytes of a directory's name in our configuration files, with the final NUL */
#define DIR_PATH_MAX 128

/*
 * Read the whole of NAME below DIR_FD into BUF as a NUL-terminated text; returns its length, or -1
 * with errno. A file that does not fit in SIZE - 1 bytes is an error (EOVERFLOW), not a cut.
 */
int file_read(int dir_fd, const char *name, char *buf, size_t size, struct errbuf *err);

/*
 * Open the directory PATH; create it with mode 0700 when it is missing. It must belong to the
 * caller and be closed to other users, who could otherwise put links where root writes. Returns its
 * fd.
 */
int dir_open_private(const char *path, struct errbuf *err);

/*
 * Replace NAME below DIR_FD by TEXT. The text is written to a file of mode MODE beside it, then
 * renamed: a reader sees the old or the new text whole, and a full disk keeps the old one.
 */
int file_replace(int dir_fd, const char *name, const char *text, unsigned mode, struct errbuf *err);

/* Write all LEN bytes to FD, through short writes and EINTR. Returns 0, or -1 with errno. */
int write_all(int fd, const void *data, size_t len);

/*
 * Read at most SIZE bytes from the start of PATH, which may be anything: only a regular file is
 * opened, no pipe or device. Returns the number of bytes, or -1.
 */
int file_read_head(const char *path, char *buf, size_t size);

/*
 * Read the first line of PATH, also a regular file, without its newline and cut to SIZE bytes with
 * the final NUL. Returns 0 or -1.
 */
int file_read_line(const char *path, char *buf, size_t size);

#endif
