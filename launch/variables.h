/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LAUNCH_VARIABLES_H
#define NODEOS_LAUNCH_VARIABLES_H

/* Variables in the job's environment. Slurm exports SLURM_* even if --export excludes them. */
#define ENV_JOB_REQUEST "SLURM_SPANK_NODEOS_REQUEST" /* from sbatch and salloc */
#define ENV_STEP_REQUEST "SLURM_SPANK_NODEOS_STEP" /* set by an srun without a job plan */
/* origin of the request and of options that srun inherits: "JOB[,container][,report][,off]" */
#define ENV_ORIGIN "SLURM_SPANK_NODEOS_JOB"
/* for srun MANIFEST.json: the command of its ranks (app_exec.h) */
#define ENV_EXEC "SLURM_SPANK_NODEOS_EXEC"
#define ENV_SET "SLURM_SPANK_NODEOS_SET" /* Slurm's variables that the client has set */

/* Slurm's variable for --nodeos-container. */
#define ENV_CONTAINER_OPTION "SLURM_SPANK__SLURM_SPANK_OPTION_nodeos_nodeos_container"

#endif
