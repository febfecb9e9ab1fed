/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_INVENTORY_APPLY_H
#define NODEOS_INVENTORY_APPLY_H

#include <sys/types.h>

#include "base/errbuf.h"
#include "inventory/record.h"

/*
 * Give the threads of the restored tree of process INIT their allowed CPUs, which R has recorded
 * and CRIU does not restore. The CPUs of the first process are those of the vnode: the k-th of them
 * at the source becomes the k-th of them here. A thread gets all of them here if it had all of them
 * at the source, or if one of its CPUs has no counterpart here. *CHANGED: number of threads that
 * got fewer than all. Returns 0, or -1 with the reason.
 */
int move_apply_cpus(const struct move_record *r, pid_t init, unsigned *changed, struct errbuf *err);

/* Read the CPUs that thread TID may use. Returns 0, or -1 with errno. */
int move_cpus_read(struct idset *out, pid_t tid);

/* Translate CPUS: the k-th CPU of SOURCE becomes the k-th CPU of DEST. Returns all of DEST if one
 * of CPUS has no counterpart. Pure. */
struct idset move_map_cpus(const struct idset *cpus, const struct idset *source,
			   const struct idset *dest);

#endif
