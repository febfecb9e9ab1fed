/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_ENTER_H
#define NODEOS_CONTAINER_ENTER_H

#include <stdio.h>
#include <sys/types.h>

#include "container/ask.h"
#include "topology/errbuf.h"

/*
 * Move PEER, the process of user UID at the other end of SOCKET, into the container that A names, and write what that has
 * to OUT: "container NAME", "cpus LIST", "mems LIST", "bind yes" where memory is bound to them, "buffer PATH" where there is one. It goes
 * into the cgroup of a rank of the step that A says, or of the last one that is there, so it ends with that step, and what it uses is that step's.
 * A process that belongs to a step already is refused: Slurm would lose it. Returns 0, or -1 and nothing has changed.
 */
int enter_peer(FILE *out, int socket, const struct ask *a, pid_t peer, uid_t uid, struct errbuf *err);

#endif
