/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_BUFFER_SOURCE_H
#define NODEOS_CONTAINER_BUFFER_SOURCE_H

#include <sys/types.h>

#include "container/conf.h"
#include "container/request.h"
#include "topology/errbuf.h"

/*
 * Open what a buffer is of, for reading and, unless ASK says otherwise, for writing: a block device that
 * the site's dimmap_devices name, with the caller's rights; or, where dimmap_files says so, a regular file with
 * those of user UID and his groups (GID: his group in this job), in a process of its own that may take CONF's
 * helper_timeout. Returns the descriptor, or -1.
 */
int buffer_source_open(const struct request_dimmap *ask, uid_t uid, gid_t gid, const struct conf *conf, const char *conf_path,
		       struct errbuf *err);

#endif
