/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SPANK_NODEOS_H
#define NODEOS_SPANK_NODEOS_H

#include <slurm/spank.h>

#include "base/errbuf.h"
#include "launch/variables.h"

/*
 * The plugin's functions for each context of Slurm. dispatch.c holds every symbol that Slurm looks
 * up, and calls these functions. All return 0 or -1: ESPANK codes are positive, and Slurm up to
 * 24.11 takes a positive result for success.
 */

/*
 * Parse the arguments in plugstack.conf: "conf=/PATH". plugstack_problem() returns the mistake in
 * them (NULL: none), which fails commands that use NodeOS, and no others.
 */
void plugstack_parse(int ac, char *av[]);
const char *plugstack_problem(void);
const char *plugstack_conf(void);

/* sbatch, salloc (allocator) and srun (local) */
int client_init(spank_t sp, int is_srun);
int client_post_opt(spank_t sp, int is_srun);
int client_user_init(spank_t sp); /* srun, once it knows its job */

/* slurmstepd */
int stepd_init(spank_t sp);
int stepd_post_opt(spank_t sp);
int stepd_user_init(spank_t sp);
int stepd_task_post_fork(spank_t sp);
int stepd_task_init_privileged(spank_t sp);
int stepd_task_init(spank_t sp);
int stepd_task_exit(spank_t sp);
int stepd_exit(spank_t sp);
int stepd_job_epilog(spank_t sp);

#endif
