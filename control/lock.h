/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_LOCK_H
#define NODEOS_CONTROL_LOCK_H

#include <stdint.h>

#include "base/errbuf.h"

/*
 * What takes turns without holding the ledger, by a file in state_dir, which nobody but root can
 * open: whoever can open a file, be it to read, can lock it and keep root waiting. Users take turns
 * for themselves.
 */
#define PRIVATE_LOCK_USER(uid) ((uint64_t)(uid)) /* who changes containers of this user */
#define PRIVATE_LOCK_CHANGES (UINT64_C(1) << 33) /* who counts changes */

/* A descriptor whose end is the lock's, or -1: errno is EAGAIN when somebody else has had it for MS
 * milliseconds. */
int lock_private(const char *state_dir, uint64_t what, long ms, struct errbuf *err);

#endif
