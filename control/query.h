/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_QUERY_H
#define NODEOS_CONTROL_QUERY_H

#include <stdio.h>
#include <sys/types.h>

#include "base/errbuf.h"

/*
 * Find the container of process PEER of user UID by the process's cgroup. Write the lines "job",
 * "container", "cpus" and "mems" of the container, and "rank_cpus" of the process's rank, to OUT.
 * Returns 0, or -1 if the process is in no container.
 */
int query_peer(FILE *out, pid_t peer, uid_t uid, struct errbuf *err);

#endif
