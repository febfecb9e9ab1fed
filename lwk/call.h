/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_CALL_H
#define NODEOS_LWK_CALL_H

#include "lwk/threads/thread.h"

/*
 * The system calls of the program. Most are passed on to Linux with the same arguments, as the
 * program's addresses are this process's. A table has the calls that mean something else in a
 * machine.
 */

/* Whether to print counts when the process ends. */
extern bool call_print_counts;

/*
 * Make the call in T's registers. Returns its result; HOST_CLOSED: a signal comes first, and the
 * call must be made again after the signal's handler. If T->no_result is set afterwards, the call
 * has set all registers itself.
 */
long call_make(struct thread *t);

/* call_lookup(): return the handler of call NUMBER; NULL: the call is passed on. */
typedef long call_handler(struct thread *t, const long arg[6]);
call_handler *call_lookup(long number);

#endif
