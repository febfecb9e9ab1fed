/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SPANK_LOAD_JOB_H
#define NODEOS_SPANK_LOAD_JOB_H

#include "launch/step.h"

/* that slurmctld may take: twice the usual MessageTimeout */
#define LOAD_JOB_SECONDS 20

/*
 * Ask slurmctld for the account and the partition of job JOB_ID, which belongs to UID. As root in
 * slurmstepd, whose Slurm functions it uses; they retry while slurmctld is away, so a process of
 * its own asks, for LOAD_JOB_SECONDS. Returns 0, or -1 with the reason in ERR; OUT is the caller's.
 */
int load_job(struct step_job *out, uint32_t job_id, uid_t uid, struct errbuf *err);

#endif
