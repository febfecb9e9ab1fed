/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_RUN_H
#define NODEOS_LWK_RUN_H

#include "lwk/thread.h"

/* Run the program's thread T, the calling one, in the machine until it ends. */
void run_thread(struct thread *t) __attribute__((noreturn));

#endif
