/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_TEXTFILE_H
#define NODEOS_BASE_TEXTFILE_H

#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/errbuf.h"

/*
 * Write the LEN bytes of TEXT to the file PATH ("-": standard output). Returns 0, or -1 with "PATH:
 * REASON" ("standard output: REASON"). After a failed write no partial text remains: a regular file
 * is emptied, and removed unless PATH is a link to it.
 */
int textfile_write(const char *path, const char *text, size_t len, struct errbuf *err);

/*
 * Read at most MAX bytes of the file or pipe PATH ("-": standard input). *TEXT is malloc'ed, with a
 * NUL behind its *LEN bytes. Devices and directories are refused, and so is a pipe that gets no
 * data for 10 seconds. Standard input has no time limit.
 */
int textfile_read(char **text, size_t *len, const char *path, size_t max, struct errbuf *err);

/*
 * Close F, to which a text was written. Returns 0, or -1 with errno when a part of it was not
 * written: a network file system may report a full disk only at the close. On failure a regular
 * file is emptied, and EMPTIED identifies it (st_mode 0: no file was emptied).
 */
int textfile_close(FILE *f, struct stat *emptied);

#endif
