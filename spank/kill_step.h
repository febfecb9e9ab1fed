/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SPANK_KILL_STEP_H
#define NODEOS_SPANK_KILL_STEP_H

#include <stdint.h>

/* that slurmctld may take: three times the usual MessageTimeout */
#define KILL_STEP_SECONDS 30

/*
 * Ask slurmctld to kill a step on all its nodes. As root in slurmstepd, whose Slurm functions it
 * uses, and they try again and again while slurmctld is away: so a process of its own asks, and the
 * step's end waits for it for KILL_STEP_SECONDS. 0; -1: they are not to be had, or slurmctld
 * refuses (errno), or has not answered in time (ETIMEDOUT).
 */
int kill_step(uint32_t job_id, uint32_t step_id);

#endif
