/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTENTION_STORAGE_H
#define NODEOS_CONTENTION_STORAGE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"

/*
 * The bytes that processes have read from and written to storage, from /proc/PID/io, for ranks
 * whose cgroup has no io.stat (Slurm does not turn the io controller on). A read of this file takes
 * the process's exec_update_lock, which a user can hold for ever (doc/HACKING.md). So a child
 * process, the reader, starts children, the workers, that read the files every STORAGE_INTERVAL
 * seconds, and the caller never waits. If a process makes a worker wait for STORAGE_LIMIT_MS,
 * another worker continues with the next process. The slow process is not read again while the
 * first worker waits for it, and less and less often afterwards; each attempt to read it delays the
 * reads of other processes by the limit.
 */
#define STORAGE_INTERVAL 10 /* seconds */
#define STORAGE_LIMIT_MS 100 /* milliseconds */
#define STORAGE_SLOTS 4096u /* processes */

struct storage;

/*
 * Open the storage of processes in PROC_FD. LIMIT: milliseconds that a worker may wait for a
 * process; 0: STORAGE_LIMIT_MS. Returns 0, or -1 with the reason.
 */
int storage_open(struct storage **out, int proc_fd, unsigned limit, struct errbuf *err);
void storage_close(struct storage *s); /* ends the reader; NULL does nothing */

/*
 * Start to read the numbers of the process with PID and START (see struct process_seen). Returns
 * its slot, or -1 if no slot is free.
 */
int storage_add(struct storage *s, pid_t pid, uint64_t start);
void storage_remove(struct storage *s, int slot);

/*
 * Get the totals of a slot's process since it began, in bytes. Returns 0, or -1 if they are
 * unknown.
 */
int storage_get(const struct storage *s, int slot, uint64_t *read, uint64_t *written);

/* Start the reader, or replace it if it has ended. Call this every few seconds. */
void storage_tend(struct storage *s);

#endif
