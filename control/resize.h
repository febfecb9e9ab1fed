/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_RESIZE_H
#define NODEOS_CONTROL_RESIZE_H

#include <stdio.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "control/protocol.h"

/*
 * Let the container that A names, of user UID (0: anybody's) who asks from CGROUP (owned.h), have
 * as many CPUs and memory nodes of its job's on this node as A says. Its ranks go along with all
 * their threads, and what is on memory nodes that it gives up is moved; ranks that are in no
 * container of the job have what is then left. Writes what has changed to OUT, as text or JSON. On
 * failure all is as before, but that pages may have moved. HELPER_PATH: the planning helper.
 *
 * Crash-safe by its order: the ledger has what the container has and what it is to have until the
 * kernel has it, so nobody else is given it; the same call again finishes what was begun.
 */
int resize_container(FILE *out, const struct ask *a, uid_t uid, const char *cgroup,
		     const char *helper_path, struct errbuf *err);

#endif
