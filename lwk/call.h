/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_CALL_H
#define NODEOS_LWK_CALL_H

#include "lwk/thread.h"

/*
 * The system calls of the program. Most are passed on to Linux with the same arguments, as the
 * program's addresses are this process's. A table has those that mean something else in a machine.
 */

/*
 * Make the call in T's registers. Returns its result; HOST_CLOSED: a signal comes first, and the
 * call must be made again after the signal's handler. If T->no_result is set afterwards, the call
 * has set all registers itself.
 */
/* Print counts when the process ends. */
extern bool call_print_counts;

long call_make(struct thread *t);

/* The handler of call NUMBER, NULL when it is passed on. */
typedef long call_handler(struct thread *t, const long arg[6]);
call_handler *call_lookup(long number);

#endif
