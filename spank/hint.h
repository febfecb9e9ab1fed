/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SPANK_HINT_H
#define NODEOS_SPANK_HINT_H

/*
 * When sbatch, salloc or srun ends because no node can ever serve the request (ERROR is its errno),
 * and nodes keep cores for their system, print their number and the largest possible request to
 * standard error. Slurm's own message has neither.
 */
void hint_unavailable(int error);

/* Check errno at srun's exit, too: without an allocation srun ends without our exit hook. */
void hint_at_exit(void);

#endif
