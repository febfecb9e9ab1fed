/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_RUN_H
#define NODEOS_LWK_RUN_H

#include "base/errbuf.h"
#include "lwk/thread.h"

/*
 * Try whether the machine works at all: T, not yet begun, makes one system call at CODE, a page of
 * the extent that may be written and executed. There are KVMs that make a machine and cannot run
 * this one. T is as new afterwards. Returns 0, or -1 with a reason.
 */
int run_check_machine(struct thread *t, uint64_t code, struct errbuf *err);

/* Run the program's thread T, the calling one, in the machine until it ends. */
void run_thread(struct thread *t) __attribute__((noreturn));

#endif
