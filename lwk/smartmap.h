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
 * name has the user, the step and the rank, and never accepts: for a connection, Linux names the
 * listening process and its user. The extent is opened through /proc/PID/fd, so Linux checks, too,
 * whether this process may look into that one.
 */

/* Which rank this process is, and the name of its socket without the rank's number. */
struct smartmap_rank {
	unsigned number;
	char name[90];
};

/*
 * Fill R by PMIX_NAMESPACE and PMIX_RANK, or SLURM_JOB_ID, SLURM_STEP_ID and SLURM_PROCID, which
 * LOOKUP (getenv) gives. Pure. Returns 0, or -1 with a reason.
 */
int smartmap_find_rank(struct smartmap_rank *r, char *(*lookup)(const char *), unsigned user,
		       struct errbuf *err);

/*
 * Return the part of CGROUPS, the text of /proc/PID/cgroup, that names a step of Slurm:
 * "…/job_5/step_0" without what follows. Sets *LENGTH, 0 when there is none. Pure.
 */
const char *smartmap_find_step(const char *cgroups, size_t *length);

/* Return the inode of the extent that MAPS, the beginning of /proc/PID/maps, has; 0: none. Pure. */
uint64_t smartmap_find_inode(const char *maps);

/* Let other ranks find this one; FD is the memfd of its extent. */
int smartmap_start(int fd, struct errbuf *err);

/* Note that this process is a copy (fork) of a rank: it keeps what is mapped, and maps no more. */
void smartmap_set_child(void);

/* Make the program's call to map the extent of rank ARG[0]. Returns 0 or -errno. */
long smartmap_attach(struct thread *t, const long arg[6]);

#endif
