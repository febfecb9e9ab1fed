/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_OWNED_FILE_H
#define NODEOS_BASE_OWNED_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/errbuf.h"

/*
 * Read the whole of the file PATH. The file is refused if anyone but root and OWNER can change it
 * (base/trusted_open.h), or if it has more than MAX bytes. *TEXT is malloc'ed, with a NUL behind
 * its *LEN bytes. Returns 0, or -1 with "PATH: REASON" and errno (ENOENT: there is no such file).
 */
int owned_file_read(char **text, size_t *len, const char *path, uid_t owner, size_t max,
		    struct errbuf *err);

#endif
