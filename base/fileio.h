/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_FILEIO_H
#define NODEOS_BASE_FILEIO_H

#include <stddef.h>

#include "base/errbuf.h"

/* limit of a directory's path in our configuration files: bytes with the final NUL */
#define DIR_PATH_MAX 128

/*
 * Read the whole of NAME below DIR_FD into BUF as a NUL-terminated text. Returns the length, or -1
 * with errno. A file longer than SIZE - 1 bytes is an error (EOVERFLOW) and is not cut.
 */
int file_read(int dir_fd, const char *name, char *buf, size_t size, struct errbuf *err);

/*
 * Open the directory PATH; create it with mode 0700 when it is missing. It must belong to the
 * caller and be closed to other users, who could otherwise put links where root writes. Returns the
 * descriptor, or -1.
 */
int dir_open_private(const char *path, struct errbuf *err);

/*
 * Replace the file NAME below DIR_FD by TEXT. A new file with MODE is written beside it, then
 * renamed: a reader sees the whole of the old or of the new text, and a full disk leaves the old
 * one.
 */
int file_replace(int dir_fd, const char *name, const char *text, unsigned mode, struct errbuf *err);

/* Write all LEN bytes to FD, through short writes and EINTR. Returns 0, or -1 with errno. */
int write_all(int fd, const void *data, size_t len);

/*
 * Read at most SIZE bytes from the start of PATH if it is a regular file; pipes, devices and other
 * kinds are not opened. Returns the number of bytes, or -1.
 */
int file_read_head(const char *path, char *buf, size_t size);

/*
 * Read the first line of the regular file PATH, without the newline, cut to SIZE bytes with the
 * final NUL. Returns 0 or -1.
 */
int file_read_line(const char *path, char *buf, size_t size);

#endif
