/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_TEXTFILE_H
#define NODEOS_BASE_TEXTFILE_H

#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/errbuf.h"

/*
 * Write the LEN bytes of TEXT to the file PATH ("-": standard output). Returns 0, or -1 with "PATH:
 * REASON" ("standard output: REASON"); then a regular file that could be opened is empty and, where
 * PATH is its name and no link to it, removed: half a text is none.
 */
int textfile_write(const char *path, const char *text, size_t len, struct errbuf *err);

/*
 * Read the file or pipe PATH ("-": standard input), of MAX bytes at most. *TEXT is malloc'ed, with
 * a NUL behind its *LEN bytes. Devices, directories and a pipe that nothing is written to for 10
 * seconds, at its start or later, are refused; standard input is waited for without a limit.
 */
int textfile_read(char **text, size_t *len, const char *path, size_t max, struct errbuf *err);

/*
 * Close F, which a text was written to. 0, or -1 with errno when not all of it was: a file system
 * of another machine may tell only at the close that it is full. Then a regular file is empty, and
 * EMPTIED says which it is; its st_mode is 0 where nothing was emptied.
 */
int textfile_close(FILE *f, struct stat *emptied);

#endif
