/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_RUN_H
#define NODEOS_LWK_RUN_H

#include "base/errbuf.h"
#include "lwk/threads/thread.h"

/*
 * Check that the machine works: some KVMs make such a machine but cannot run it. T, a thread that
 * has not begun, makes one system call at CODE, a page of the extent that may be written and
 * executed. T can be used as a new thread afterwards. Returns 0, or -1 with a reason.
 */
int run_check_machine(struct thread *t, uint64_t code, struct errbuf *err);

/* Run the program's thread T, the calling one, in the machine until it ends. */
void run_thread(struct thread *t) __attribute__((noreturn));

#endif
