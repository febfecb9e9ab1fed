/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_FILES_H
#define NODEOS_GUEST_FILES_H

#include <sys/types.h>

#include "base/errbuf.h"

/*
 * Start virtiofsd, which serves the host's files with this process's rights. PATH is its program;
 * NULL: Debian's path. *FD is a connected socket to it, for QEMU. Returns its process, or -1.
 */
pid_t guest_files_start(int *fd, const char *path, struct errbuf *err);

#endif
