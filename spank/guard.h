/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SPANK_GUARD_H
#define NODEOS_SPANK_GUARD_H

#include "launch/step.h"

/*
 * If a node lacks the plugin, Slurm does not report it: ranks would run there unconfined. So the
 * client puts settings of stock Slurm and bash into the environment that make processes fail there,
 * and the plugin on a node removes them before exec:
 *
 *   a step   SLURM_RLIMIT_AS of one byte, which slurmstepd sets immediately before exec
 *            (ulimits.c): nothing can be executed with it. SLURM_RLIMIT_CORE holds the
 *            reason: slurmstepd prints a limit that it cannot read.
 *   srun     calls no hook of ours once it has set SLURM_RLIMIT_*. SLURM_TASK_PROLOG, which it
 *   --async  reads before, names a program that a node without NodeOS lacks, and that ends the
 *            rank if the plugin has not removed the guard.
 *   a batch  sbatch sets SLURM_RLIMIT_* anew after every hook of ours. BASH_ENV ends
 *   script   a bash script with the reason; SLURM_TASK_PROLOG, a program that does not
 *            exist, ends the ranks of an srun without the plugin.
 *
 * A plugin that is older than the guard does not remove it, so its node refuses, too.
 */

/* Set the guard in the environment of this srun, once it knows its job. */
void guard_arm_step(void);
/*
 * srun --async calls guard_prepare_async() before it reads its options, and guard_arm_async()
 * afterwards.
 */
void guard_prepare_async(void);
void guard_arm_async(void);

/* Set the guard in the environment of this sbatch, before it submits. */
void guard_arm_batch(void);

/* Remove the guard of a job around this client, before the client reads its options. */
void guard_disarm_client(void);

/* On the node: restore the step's environment. -1: a guard of another version. */
int guard_lift(const struct step_env *env, struct errbuf *err);

#endif
