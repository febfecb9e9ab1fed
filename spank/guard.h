/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SPANK_GUARD_H
#define NODEOS_SPANK_GUARD_H

#include "launch/step.h"

/*
 * Slurm tells nobody when a node lacks a plugin: it would run the ranks, unconfined. So
 * the client leaves in the environment what makes a process fail there, in the words
 * of stock Slurm and bash, and the plugin on the node takes it away before exec:
 *
 *   a step   SLURM_RLIMIT_AS of one byte, which slurmstepd sets last thing before exec
 *            (ulimits.c): nothing can be executed with it. SLURM_RLIMIT_CORE holds the
 *            reason: slurmstepd prints a limit that it cannot read.
 *   srun     calls no hook of ours once it has set SLURM_RLIMIT_*. SLURM_TASK_PROLOG, which it
 *   --async  reads before, is a program that a node without us does not have, and that ends the
 *            rank where the plugin has not taken the guard away.
 *   a batch  sbatch sets SLURM_RLIMIT_* anew after every hook of ours. BASH_ENV ends
 *   script   a bash script with the reason; SLURM_TASK_PROLOG, a program that is
 *            nowhere, ends the ranks of an srun that knows no plugin either.
 *
 * A plugin older than the guard does not take it away: a node with one refuses, too.
 */

/* Set it in this process's environment: srun, its job known; sbatch, before it submits. */
void guard_arm_step(void);
/* srun --async: before it reads its options, and when these are known. */
void guard_prepare_async(void);
void guard_arm_async(void);
void guard_arm_batch(void);

/* Take away what a job around this client left, before the client reads its own options. */
void guard_disarm_client(void);

/* On the node: give the step's environment back what it had. -1: a guard of another version. */
int guard_lift(const struct step_env *env, struct errbuf *err);

#endif
