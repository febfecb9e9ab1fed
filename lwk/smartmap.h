/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_SMARTMAP_H
#define NODEOS_LWK_SMARTMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "lwk/threads/thread.h"

/*
 * Ranks of one step map each other's extents, at a fixed distance for each rank (Kitten's
 * SMARTMAP); nodeos-smartmap.h is the program's side. A rank listens on an abstract socket whose
 * name has the user, the step and the rank. It never accepts a connection: the process that
 * connects gets the PID and the user of the listener from Linux. It opens the listener's extent
 * through /proc/PID/fd, so Linux also checks whether it may look into the listener.
 */

/* Which rank this process is, and the name of its socket without the rank's number. */
struct smartmap_rank {
	unsigned number;
	char name[90];
};

/*
 * Fill R from the variables PMIX_NAMESPACE and PMIX_RANK, or SLURM_JOB_ID, SLURM_STEP_ID and
 * SLURM_PROCID. LOOKUP returns the value of a variable, as getenv() does. Pure. Returns 0, or -1
 * with a reason.
 */
int smartmap_find_rank(struct smartmap_rank *r, char *(*lookup)(const char *), unsigned user,
		       struct errbuf *err);

/*
 * Return the part of CGROUPS, the text of /proc/PID/cgroup, that names a step of Slurm:
 * "…/job_5/step_0" without what follows. Sets *LENGTH, 0 when there is none. Pure.
 */
const char *smartmap_find_step(const char *cgroups, size_t *length);

/* Return the inode of the extent in MAPS, the beginning of /proc/PID/maps; 0: no extent. Pure. */
uint64_t smartmap_find_inode(const char *maps);

/* Let other ranks find this one; FD is the memfd of its extent. */
int smartmap_start(int fd, struct errbuf *err);

/*
 * Prepare a process that is a copy (fork) of a rank: it keeps the extents that are mapped, and
 * cannot map others.
 */
void smartmap_set_child(void);

/* Make the program's call to map the extent of rank ARG[0]. Returns 0 or -errno. */
long smartmap_attach(struct thread *t, const long arg[6]);

#endif
