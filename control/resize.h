/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_RESIZE_H
#define NODEOS_CONTROL_RESIZE_H

#include <stdio.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "control/protocol.h"

/*
 * Change the CPUs and memory nodes of the container that A names, within those of its job on this
 * node. The container's user is UID (0: any user), and CGROUP is the caller's cgroup (owned.h). The
 * container's ranks follow with all their threads, and their memory moves off nodes that the
 * container gives up; ranks outside of containers get what it gives up. Writes the changes to OUT,
 * as text or JSON. Returns 0, or -1 with the reason. Then all is unchanged, except for what the
 * reason names and for pages that have moved. HELPER_PATH is the path of the planning helper.
 *
 * A crash does no harm: the entry claims the old and the new resources until the kernel has the new
 * ones, so no other container gets them. A second call completes an interrupted resize.
 */
int resize_container(FILE *out, const struct ask *a, uid_t uid, const char *cgroup,
		     const char *helper_path, struct errbuf *err);

#endif
