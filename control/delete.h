/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_DELETE_H
#define NODEOS_CONTROL_DELETE_H

#include <stdio.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "control/protocol.h"

/*
 * Delete the container that A names from this node. Its user is UID (0: any user), the caller's
 * cgroup CGROUP (owned.h). Its CPUs and memory return to its job, ranks outside of containers may
 * use its CPUs, its buffer is released, and later steps cannot join it. If it has ranks, A decides
 * whether this fails or kills them. Writes the changes to OUT, as text or JSON. On failure the
 * container is unchanged, but its ranks may have been killed.
 */
int delete_container(FILE *out, const struct ask *a, uid_t uid, const char *cgroup,
		     struct errbuf *err);

#endif
