/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SPANK_KILL_STEP_H
#define NODEOS_SPANK_KILL_STEP_H

#include <stdint.h>

/* limit for slurmctld's answer: three times the usual MessageTimeout */
#define KILL_STEP_SECONDS 30

/*
 * Let slurmctld kill a step on all its nodes. Call as root in slurmstepd, whose Slurm functions it
 * uses. These functions retry while slurmctld does not answer: so a separate process calls them,
 * and the end of the step waits at most KILL_STEP_SECONDS. Returns 0, or -1: the functions are not
 * available, slurmctld refuses (errno), or has not answered in time (ETIMEDOUT).
 */
int kill_step(uint32_t job_id, uint32_t step_id);

#endif
