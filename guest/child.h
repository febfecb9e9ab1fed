/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_CHILD_H
#define NODEOS_GUEST_CHILD_H

#include <sys/types.h>

#include "base/errbuf.h"

/*
 * Execute ARGV, whose first word is the path of a program, in a process that is killed when this
 * one ends. It has an empty standard input, this process's standard output and error, and of the
 * other descriptors the N of KEEP, which may contain -1. A terminal's signals do not reach it.
 * Returns its id, or -1.
 */
pid_t child_start(char *const *argv, const int *keep, unsigned n, struct errbuf *err);

#endif
