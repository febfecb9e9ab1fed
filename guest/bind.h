/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_BIND_H
#define NODEOS_GUEST_BIND_H

#include <sys/types.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "guest/shape.h"

/*
 * Bind THREAD[i] of the process PID to the host's CPU that is CPU i of SHAPE. Bind all other
 * threads of PID to REST, which is not empty, with an ordinary scheduling policy. New threads
 * inherit both from the thread that makes them. Returns 0, or -1.
 */
int guest_bind(pid_t pid, const pid_t thread[GUEST_CPUS_MAX], const struct guest_shape *shape,
	       const struct idset *rest, struct errbuf *err);

/* Bind the process PID, which has just begun, to CPUS, with an ordinary scheduling policy. */
int guest_bind_helper(pid_t pid, const struct idset *cpus, struct errbuf *err);

#endif
