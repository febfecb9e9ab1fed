/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_TEXTFILE_H
#define NODEOS_TOPOLOGY_TEXTFILE_H

#include <stddef.h>

#include "topology/errbuf.h"

/*
 * Write the LEN bytes of TEXT to the file PATH ("-": standard output). Returns 0, or -1 with "PATH: REASON"; then a
 * regular file that could be opened is empty and, where PATH is its name and no link to it, removed: half a text is none.
 */
int textfile_write(const char *path, const char *text, size_t len, struct errbuf *err);

#endif
