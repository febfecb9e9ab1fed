/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_TEXTFILE_H
#define NODEOS_BASE_TEXTFILE_H

#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/errbuf.h"

/*
 * Write the LEN bytes of TEXT to the file PATH ("-": standard output). Returns 0, or -1 with "PATH:
 * REASON" ("standard output: REASON"). A failure leaves no half of a text: a regular file that
 * could be opened is emptied and, where PATH is its name and not a link to it, removed.
 */
int textfile_write(const char *path, const char *text, size_t len, struct errbuf *err);

/*
 * Read at most MAX bytes of the file or pipe PATH ("-": standard input). *TEXT is malloc'ed, with a
 * NUL behind its *LEN bytes. Refused are devices, directories and a pipe that gets no data for 10
 * seconds, at its start or later. Standard input has no time limit.
 */
int textfile_read(char **text, size_t *len, const char *path, size_t max, struct errbuf *err);

/*
 * Close F after a text was written to it. Returns 0, or -1 with errno when not all of it was
 * written: a network file system may report a full disk at the close only. On failure a regular
 * file is emptied, and EMPTIED identifies it; its st_mode is 0 where nothing was emptied.
 */
int textfile_close(FILE *f, struct stat *emptied);

#endif
