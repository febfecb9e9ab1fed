/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_DELETE_H
#define NODEOS_CONTROL_DELETE_H

#include <stdio.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "control/protocol.h"

/*
 * Take the container that A names, of user UID (0: anybody's) who asks from CGROUP (owned.h), off
 * this node: what it had is its job's again, ranks in no container are let onto its CPUs, its
 * buffer is taken down, and later steps cannot be in it. With ranks in it that is refused, or they
 * are killed, as A says. Writes what has changed to OUT, as text or JSON. On failure the container
 * is as before, but that ranks may have been killed.
 */
int delete_container(FILE *out, const struct ask *a, uid_t uid, const char *cgroup,
		     struct errbuf *err);

#endif
