/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_EXEC_H
#define NODEOS_LWK_EXEC_H

#include <stdint.h>

#include "lwk/options.h"
#include "lwk/threads/thread.h"

/*
 * When the program executes another program, this process executes nodeos-lwk again with the new
 * program, so that it runs in a machine of its own. With --loose, the new program runs outside of a
 * machine, and a message on stderr reports that.
 */

/* O: the options of this process; PATH: the path of the present program, for /proc/self/exe. */
void exec_start(const struct options *o, const char *path);

/* execve() and execveat(). They return only on failure, with -errno. */
long execute_program(struct thread *t, const long arg[6]);
long execute_program_at(struct thread *t, const long arg[6]);

/* Record that this process is a copy (fork). */
void exec_set_child(void);

/* The path of the present program if the path at ADDRESS names it in /proc, else NULL. */
const char *exec_own_path(const struct thread *t, uint64_t address);

#endif
