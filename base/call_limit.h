/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_CALL_LIMIT_H
#define NODEOS_BASE_CALL_LIMIT_H

#include <time.h>

#include "base/errbuf.h"

/*
 * A time limit for system calls that a signal can interrupt. perf_event_open() on a process waits
 * while that process is in execve() (exec_update_lock, include/linux/sched/signal.h), and the user
 * of the process can make execve() last for ever (a FUSE server that does not answer). At the limit
 * the call fails with EINTR. The signal is SIGRTMAX, sent to the calling thread; its handler does
 * nothing.
 */
struct call_limit {
	timer_t timer;
};

/* The limit is for calls of the calling thread. Returns 0, or -1 with the reason. */
int call_limit_open(struct call_limit *l, struct errbuf *err);
void call_limit_close(struct call_limit *l);

/*
 * All system calls between begin and end have MILLISECONDS in total; after that, each call that
 * would wait fails with EINTR.
 */
void call_limit_begin(const struct call_limit *l, unsigned milliseconds);
void call_limit_end(const struct call_limit *l);

#endif
