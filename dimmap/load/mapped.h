/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_MAPPED_H
#define NODEOS_DIMMAP_LOAD_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

/* Bytes of the file or block device FD; -1 with errno. */
int64_t file_size(int fd);

/* The first SIZE bytes of PATH, without read-ahead, which would look like a part of what follows.
 * Returns how many there were, or -1. */
int64_t file_head(const char *path, void *head, size_t size, struct errbuf *err);

/* A file, or block device, mapped to be read. */
struct mapped {
	const unsigned char *data;
	uint64_t size;
	const char *path; /* the caller's */
};

/*
 * Map the first SIZE bytes of PATH (0: all). RANDOM: with MADV_RANDOM. One mapped file at a time: a
 * SIGBUS, for a page that could not be read, ends the program with a line that names it.
 */
int mapped_open(struct mapped *m, const char *path, uint64_t size, bool random, struct errbuf *err);
void mapped_close(struct mapped *m);

#endif
