/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SPANK_LOAD_JOB_H
#define NODEOS_SPANK_LOAD_JOB_H

#include "launch/step.h"

/* limit for slurmctld's answer: twice the usual MessageTimeout */
#define LOAD_JOB_SECONDS 20

/*
 * Get the account and the partition of job JOB_ID, which belongs to UID, from slurmctld. Call as
 * root in slurmstepd, whose Slurm functions it uses. These functions retry while slurmctld does not
 * answer: so a separate process calls them, for at most LOAD_JOB_SECONDS. Returns 0, or -1 with the
 * reason in ERR. The caller owns OUT.
 */
int load_job(struct step_job *out, uint32_t job_id, uid_t uid, struct errbuf *err);

#endif
