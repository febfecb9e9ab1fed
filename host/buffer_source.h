/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_BUFFER_SOURCE_H
#define NODEOS_HOST_BUFFER_SOURCE_H

#include "host/buffer.h"

/*
 * Open what a buffer is of, for reading and, unless its request says otherwise, for writing: a
 * block device that the site's dimmap_devices name, with the caller's rights; or, where
 * dimmap_files says so, a regular file with those of the user of B and his groups, in a process of
 * its own that may take CONF's helper_timeout. While a buffer is of a file nobody else can write to
 * it: so one that is only read, too, has to be his or one that he could write to. Returns the
 * descriptor, or -1.
 */
int buffer_source_open(const struct buffer *b, const struct conf *conf, const char *conf_path,
		       struct errbuf *err);

#endif
