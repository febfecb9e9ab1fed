/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_INVENTORY_SCAN_H
#define NODEOS_INVENTORY_SCAN_H

#include <sys/types.h>

#include "inventory/record.h"

/*
 * Record the tree of process INIT of this host: INIT and all processes below it. SHARED: the N
 * mount points in the vnode that are the same file system on both hosts.
 *
 * Users control these processes: while they run, a read of their files in /proc may wait for ever
 * for their address space. So either the caller is a process of its own that can be killed
 * (move_scan_apart()), or CRIU has frozen the tree and holds each of its threads.
 */
struct move_scan {
	pid_t init;
	const char *const *shared;
	unsigned n;
	/* bytes of memory that are not pages of files, and number of processes, for the forecast;
	 * move_scan_tree() sets both */
	uint64_t bytes;
	unsigned processes;
};

/* On success the caller frees *R, which is sorted. Returns 0, or -1 with the reason. */
int move_scan_tree(struct move_record *r, struct move_scan *s, struct errbuf *err);

/* Like move_scan_tree(), in a process that is killed after SECONDS. */
int move_scan_apart(struct move_record *r, struct move_scan *s, unsigned seconds,
		    struct errbuf *err);

/*
 * Call EACH for each thread of the tree of INIT that R, sorted, has recorded, until EACH returns
 * non-zero; TID is the thread's number on this host. Returns that value, or 0. The tree must be
 * held.
 */
int move_threads_each(const struct move_record *r, pid_t init,
		      int (*each)(pid_t tid, const struct move_thread *t, void *arg), void *arg);

/* Call EACH for every process of the tree of INIT, parents first, until EACH returns non-zero. */
int move_tree_each(pid_t init, int (*each)(pid_t pid, void *arg), void *arg);

#endif
