/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_EXEC_H
#define NODEOS_LWK_EXEC_H

#include <stdint.h>

#include "lwk/options.h"
#include "lwk/thread.h"

/*
 * The program executes another: this process executes nodeos-lwk again with that program, so it
 * stays in a machine, its own. With --loose it leaves, and a line says so.
 */

/* O: how this process was started; PATH: of the present program, for /proc/self/exe. */
void exec_start(const struct options *o, const char *path);

/* execve() and execveat(). Return -errno only. */
long execute_program(struct thread *t, const long arg[6]);
long execute_program_at(struct thread *t, const long arg[6]);

/* This process is a copy (fork) from now on. */
void exec_set_child(void);

/* The path of the present program if the path at ADDRESS names it in /proc, else NULL. */
const char *exec_own_path(const struct thread *t, uint64_t address);

#endif
