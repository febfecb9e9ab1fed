/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HUGEPAGES_BORROW_H
#define NODEOS_HUGEPAGES_BORROW_H

#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"

/*
 * Get a copy of descriptor FD of process PID if its process_number() is still NUMBER: another
 * process may have the PID by now. The caller is root. Returns a descriptor that stays open in
 * execve(), or -1.
 */
int borrow_descriptor(pid_t pid, uint64_t number, int fd, struct errbuf *err);

#endif
