/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_BUFFER_SOURCE_H
#define NODEOS_HOST_BUFFER_SOURCE_H

#include "host/buffer.h"

/*
 * Open the source of a buffer, for reading and, unless the request is read-only, for writing. The
 * source is a block device of the site's dimmap_devices, or a regular file if dimmap_files allows
 * it. A device is opened with the caller's rights. A file is opened by a child process with the
 * rights and groups of B's user, within CONF's helper_timeout. While a buffer uses a file, no other
 * process can write to the file: so the user must own it or have write access, even if the buffer
 * only reads it. Returns the descriptor, or -1.
 */
int buffer_source_open(const struct buffer *b, const struct conf *conf, const char *conf_path,
		       struct errbuf *err);

#endif
