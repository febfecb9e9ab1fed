/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_CALL_LIMIT_H
#define NODEOS_BASE_CALL_LIMIT_H

#include <time.h>

#include "base/errbuf.h"

/*
 * A limit of time for calls of the kernel that a signal can end. perf_event_open() of a process
 * waits while that process executes a program, which its user can make last for ever (a file server
 * of his own that does not answer): exec_update_lock, include/linux/sched/signal.h. The call then
 * fails with EINTR. The signal is SIGRTMAX of the calling thread; its handler does nothing.
 */
struct call_limit {
	timer_t timer;
};

/* For the calling thread. Returns 0, or -1 with the reason. */
int call_limit_open(struct call_limit *l, struct errbuf *err);
void call_limit_close(struct call_limit *l);

/* Calls between these two have MILLISECONDS together; after that, a call that waits ends at
 * once. */
void call_limit_begin(const struct call_limit *l, unsigned milliseconds);
void call_limit_end(const struct call_limit *l);

#endif
