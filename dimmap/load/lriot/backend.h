/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LRIOT_BACKEND_H
#define NODEOS_DIMMAP_LOAD_LRIOT_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

/* What an access comes back with, but for 0 and errno. */
#define GOT_SIGBUS (-1)

struct backend;

/* The open file of one process. */
struct target {
	const struct backend *backend;
	const char *path;
	int fd;
	bool writes;
	uint64_t size;
	char *map; /* of SIZE bytes */
	bool disturbed; /* parts of MAP may be read-only, or away, for a moment */
};

/* How to get at the file. Offsets and lengths are whole blocks, but in a mapping also parts of one.
 */
struct backend {
	const char *name;
	bool maps;
	int flags, advice; /* of open() and madvise() */
	/* 0, or -1 with ERR; PATH stays the caller's. */
	int (*open)(struct target *t, struct errbuf *err);
	/* 0, an errno, or GOT_SIGBUS; TO and FROM are aligned to a page. */
	int (*read)(struct target *t, uint64_t *to, uint64_t offset, size_t len);
	int (*write)(struct target *t, const uint64_t *from, uint64_t offset, size_t len);
	int (*sync)(struct target *t);
};

const struct backend *backend_by_name(const char *name); /* NULL: there is none */

int target_open(struct target *t, const struct backend *backend, const char *path, uint64_t size,
		bool writes, struct errbuf *err);
void target_close(struct target *t);

#endif
