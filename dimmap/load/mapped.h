/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_MAPPED_H
#define NODEOS_DIMMAP_LOAD_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * Read the first SIZE bytes of PATH. There is no read-ahead: it would count as accesses of the
 * load. Returns the number of bytes, or -1.
 */
int64_t file_head(const char *path, void *head, size_t size, struct errbuf *err);

/* A mapped file or block device. */
struct mapped {
	unsigned char *data;
	uint64_t size;
	const char *path; /* owned by the caller */
	bool writes;
};

enum mapped_how {
	MAPPED_RANDOM = 1, /* with MADV_RANDOM */
	MAPPED_WRITE = 2, /* map for writing, too; otherwise the mapping is read-only */
};

/*
 * Map the first SIZE bytes of PATH (0: all). Only one file can be mapped at a time. If a page
 * cannot be read or written, SIGBUS ends the program with a line that names the byte.
 */
int mapped_open(struct mapped *m, const char *path, uint64_t size, unsigned how,
		struct errbuf *err);

/*
 * Create the file PATH with SIZE bytes, allocate all of them on the disk, and map the file for
 * writing. A block device, or a file of dimmapfs (which has the size of its device), must have at
 * least SIZE bytes.
 */
int mapped_create(struct mapped *m, const char *path, uint64_t size, struct errbuf *err);

/*
 * Write all changes to the disk, and unmap the file. Returns -1 with ERR if the write has failed.
 */
int mapped_close(struct mapped *m, struct errbuf *err);

#endif
