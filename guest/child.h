/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_CHILD_H
#define NODEOS_GUEST_CHILD_H

#include <sys/types.h>

#include "base/errbuf.h"

/*
 * Execute ARGV, whose first word is the path of a program, in a child that is killed when this
 * process ends. The child has an empty standard input, this process's standard output and error,
 * and the N descriptors of KEEP, which may contain -1. A terminal's signals do not reach it.
 * Returns its PID, or -1.
 */
pid_t child_start(char *const *argv, const int *keep, unsigned n, struct errbuf *err);

#endif
