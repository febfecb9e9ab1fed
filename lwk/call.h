/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_CALL_H
#define NODEOS_LWK_CALL_H

#include "lwk/threads/thread.h"

/*
 * The system calls of the program. Most are passed on to Linux with the same arguments, because an
 * address of the program is the same address of this process. A table has a handler for each call
 * that means something else in a machine.
 */

/* Whether to print counts when the process ends. */
extern bool call_print_counts;

/*
 * Make the system call in T's registers. Returns its result, or HOST_CLOSED: then a signal's
 * handler runs first, and the call must be made again. If T->no_result is set afterwards, the call
 * has set all registers itself.
 */
long call_make(struct thread *t);

/* call_lookup(): return the handler of call NUMBER; NULL: the call is passed on. */
typedef long call_handler(struct thread *t, const long arg[6]);
call_handler *call_lookup(long number);

#endif
