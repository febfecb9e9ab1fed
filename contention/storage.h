/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTENTION_STORAGE_H
#define NODEOS_CONTENTION_STORAGE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"

/*
 * The bytes that processes read from storage and wrote to it, by /proc/PID/io, for ranks whose cgroup
 * has no io.stat (Slurm does not switch that controller on). The kernel takes the process'
 * exec_update_lock for this file, and a user can hold that for ever (doc/HACKING.md). So a process
 * of its own has it read by workers, each STORAGE_INTERVAL seconds, and the caller never waits.
 * Where a process keeps a worker waiting for STORAGE_LIMIT_MS, another one goes on behind it. The
 * process is not asked again while the first one waits, and more and more rarely afterwards: it
 * costs the others the limit once.
 */
#define STORAGE_INTERVAL 10
#define STORAGE_LIMIT_MS 100
#define STORAGE_SLOTS 4096u

struct storage;

/* LIMIT: milliseconds in place of STORAGE_LIMIT_MS, 0: these. Returns 0, or -1 with the reason. */
int storage_open(struct storage **out, int proc_fd, unsigned limit, struct errbuf *err);
void storage_close(struct storage *s); /* ends the reader; NULL does nothing */

/* Read the numbers of PID, which started at START (clock ticks since boot), from now on. Returns
 * its slot, or -1 if none is free. */
int storage_add(struct storage *s, pid_t pid, uint64_t start);
void storage_remove(struct storage *s, int slot);

/* Get the totals of a slot since its process began, in bytes. Returns 0, or -1 if they are not
 * known yet, or not any more. */
int storage_get(const struct storage *s, int slot, uint64_t *read, uint64_t *written);

/* Replace a reader that has ended, and start the first; call it every few seconds. */
void storage_tend(struct storage *s);

#endif
