/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SPANK_KILL_STEP_H
#define NODEOS_SPANK_KILL_STEP_H

#include <stdint.h>

/*
 * Ask slurmctld to kill a step on all its nodes. As root in slurmstepd, whose Slurm functions it
 * uses. 0; -1: they are not to be had, or slurmctld refuses (errno).
 */
int kill_step(uint32_t job_id, uint32_t step_id);

#endif
