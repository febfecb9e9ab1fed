/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_DELETE_H
#define NODEOS_CONTROL_DELETE_H

#include <stdio.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "control/protocol.h"

/*
 * Delete the container that A names from this node. The container's user is UID (0: any user), and
 * CGROUP is the caller's cgroup (owned.h). The container's CPUs and memory return to the job, ranks
 * outside of containers may use the CPUs, the buffer is released, and later steps cannot join the
 * container. If the container has ranks, this function fails, or kills them if A->kill is set.
 * Writes the changes to OUT, as text or JSON. Returns 0, or -1 with the reason. The container is
 * unchanged then, except for what the reason names.
 */
int delete_container(FILE *out, const struct ask *a, uid_t uid, const char *cgroup,
		     struct errbuf *err);

#endif
