/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SPANK_HINT_H
#define NODEOS_SPANK_HINT_H

/*
 * When sbatch, salloc or srun ends because no node could ever serve the request
 * (ERROR is what errno was), and nodes keep cores for their system, say on
 * standard error how many, and what the largest request is. Slurm's own message
 * tells neither.
 */
void hint_unavailable(int error);

/* srun ends without our exit hook when it got no allocation: look at errno at its exit, too. */
void hint_at_exit(void);

#endif
