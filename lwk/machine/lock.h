/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_MACHINE_LOCK_H
#define NODEOS_LWK_MACHINE_LOCK_H

#include <linux/futex.h>

#include "lwk/machine/host.h"

/*
 * A lock for threads without libc's thread-local memory; { 0 } is free. STATE is 1 when the lock is
 * taken, 2 when threads may wait for it.
 */
struct lock {
	int state;
};

static inline void lock_take(struct lock *l)
{
	int seen = 0;

	if (__atomic_compare_exchange_n(&l->state, &seen, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(&l->state, 2, __ATOMIC_ACQUIRE) != 0)
		host_call(SYS_futex, (long)&l->state, FUTEX_WAIT_PRIVATE, 2);
}

static inline void lock_release(struct lock *l)
{
	if (__atomic_exchange_n(&l->state, 0, __ATOMIC_RELEASE) == 2)
		host_call(SYS_futex, (long)&l->state, FUTEX_WAKE_PRIVATE, 1);
}

#endif
