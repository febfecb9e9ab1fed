/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_LOCK_H
#define NODEOS_CONTROL_LOCK_H

#include <stdint.h>

#include "base/errbuf.h"

/*
 * Locks in addition to the ledger's. Their file is in state_dir, where only root can open it: a
 * process that can open a file, even read-only, can lock it and make root wait. Each user has one
 * lock.
 */
#define PRIVATE_LOCK_USER(uid) ((uint64_t)(uid)) /* for changes of this user's containers */
#define PRIVATE_LOCK_CHANGES (UINT64_C(1) << 33) /* for the number of changes */

/*
 * Take lock WHAT. Returns a descriptor, whose close releases the lock, or -1; errno is EAGAIN if
 * the lock was not free within MS milliseconds.
 */
int lock_private(const char *state_dir, uint64_t what, long ms, struct errbuf *err);

#endif
