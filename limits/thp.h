/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LIMITS_THP_H
#define NODEOS_LIMITS_THP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errbuf.h"

/*
 * Forbid transparent huge pages to the calling process (DISABLE), or leave them to the host's
 * setting. Children of the process and the programs that it executes inherit this.
 */
int thp_disable(bool disable, struct errbuf *err);

/* Return whether transparent huge pages are forbidden to the calling process. */
bool thp_is_disabled(void);

/*
 * Write the host's setting to BUF: "always", "madvise" or "never"; "": unknown, or the kernel has
 * none. ROOT: "", or a test's directory.
 */
void thp_host_setting(char *buf, size_t size, const char *root);

#endif
