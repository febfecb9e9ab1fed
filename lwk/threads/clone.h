/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_THREADS_CLONE_H
#define NODEOS_LWK_THREADS_CLONE_H

#include "lwk/threads/thread.h"

/*
 * New threads and processes of the program. A thread of the program is a thread of this process, on
 * a vCPU of the same machine. vfork's child has such a vCPU, too, until it executes a program. A
 * process (fork) makes a machine of its own and copies the used pages of the extent.
 */
long clone_call(struct thread *t, const long arg[6]); /* clone() */
long clone_call3(struct thread *t, const long arg[6]); /* clone3() */
long clone_fork(struct thread *t, const long arg[6]); /* fork() */
long clone_vfork(struct thread *t, const long arg[6]); /* vfork() */

/* Start the first thread: set its ids and run it. */
void clone_begin(void *thread);

#endif
