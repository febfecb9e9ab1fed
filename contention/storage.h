/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTENTION_STORAGE_H
#define NODEOS_CONTENTION_STORAGE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"

/*
 * Bytes that processes read from storage and wrote to it, by /proc/PID/io, for ranks whose cgroup
 * has no io.stat (Slurm does not switch that controller on). The kernel takes the process'
 * exec_update_lock for this file, and a user can hold that for ever: a process in execve() has it
 * while it waits for the lock of an address space that it shares (vfork) with one in a page fault.
 * So a process of its own reads, each STORAGE_INTERVAL seconds, and the caller never waits for it:
 * where one read takes STORAGE_STUCK seconds, the reader is killed (the wait allows that), another
 * one begins, and that process is not asked again.
 */
#define STORAGE_INTERVAL 10
#define STORAGE_STUCK 30
#define STORAGE_SLOTS 4096u

struct storage;

/* STUCK: milliseconds in place of STORAGE_STUCK, 0: that. Returns 0, or -1 with the reason. */
int storage_open(struct storage **out, int proc_fd, unsigned stuck, struct errbuf *err);
void storage_close(struct storage *s); /* ends the reader; NULL does nothing */

/* Begin to read of PID, whose start time is START. Returns its slot, or -1: none is free. */
int storage_add(struct storage *s, pid_t pid, uint64_t start);
void storage_remove(struct storage *s, int slot);

/* Totals of a slot since the process began. Returns 0, or -1: not known (yet, or any more). */
int storage_get(const struct storage *s, int slot, uint64_t *read, uint64_t *written);

/* Replace a reader that is stuck or has ended, and start the first; call it every few seconds. */
void storage_tend(struct storage *s);

#endif
