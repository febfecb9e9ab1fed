/* SPDX-License-Identifier: GPL-2.0-or-later */

/* nodeos.so: this file has every symbol that Slurm looks up, and nothing else. */
#include <errno.h>
#include <stdlib.h>

#include "host/built_for.h"
#include "spank/hint.h"
#include "spank/nodeos.h"
#include "spank/options.h"

SPANK_PLUGIN(nodeos, 1)

/* Slurm >= 25.05: a failing init fails the job and does not drain the node. */
#if defined(SLURM_VERSION_NUM) && SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
extern int slurm_spank_init_failure_mode;
int slurm_spank_init_failure_mode = ESPANK_JOB_FAILURE;
#endif

/*
 * nodeosctl features reads this text in the plugin's file. It cannot load a plugin that is linked
 * with -z now, as in hardened builds of distributions: outside of Slurm, dlopen() does not find
 * Slurm's functions.
 */
#define TEXT_OF(number) #number
#define BUILT_FOR(number) NODEOS_BUILT_FOR TEXT_OF(number)
extern const char nodeos_built_for[]; /* no code refers to this text: a linker option keeps it */
const char nodeos_built_for[] = BUILT_FOR(SLURM_VERSION_NUMBER);

int slurm_spank_init(spank_t sp, int ac, char *av[])
{
	plugstack_parse(ac, av);
	switch (spank_context()) {
	case S_CTX_ALLOCATOR:
		return client_init(sp, 0);
	case S_CTX_LOCAL:
		hint_at_exit();
		return client_init(sp, 1);
	case S_CTX_REMOTE:
		return stepd_init(sp);
	default:
		return 0;
	}
}

int slurm_spank_init_post_opt(spank_t sp, int ac, char *av[])
{
	(void)ac;
	(void)av;
	switch (spank_context()) {
	case S_CTX_ALLOCATOR:
		return client_post_opt(sp, 0);
	case S_CTX_LOCAL:
		return client_post_opt(sp, 1);
	case S_CTX_REMOTE:
		return stepd_post_opt(sp);
	default:
		return 0;
	}
}

int slurm_spank_local_user_init(spank_t sp, int ac, char *av[])
{
	(void)ac;
	(void)av;
	return client_user_init(sp);
}

int slurm_spank_user_init(spank_t sp, int ac, char *av[])
{
	(void)ac;
	(void)av;
	return stepd_user_init(sp);
}

int slurm_spank_task_post_fork(spank_t sp, int ac, char *av[])
{
	(void)ac;
	(void)av;
	return stepd_task_post_fork(sp);
}

int slurm_spank_task_init_privileged(spank_t sp, int ac, char *av[])
{
	(void)ac;
	(void)av;
	return stepd_task_init_privileged(sp);
}

int slurm_spank_task_init(spank_t sp, int ac, char *av[])
{
	(void)ac;
	(void)av;
	return stepd_task_init(sp);
}

int slurm_spank_task_exit(spank_t sp, int ac, char *av[])
{
	(void)ac;
	(void)av;
	return stepd_task_exit(sp);
}

int slurm_spank_exit(spank_t sp, int ac, char *av[])
{
	int error = errno; /* errno of the error that ends a client */

	(void)ac;
	(void)av;
	switch (spank_context()) {
	case S_CTX_REMOTE:
		return stepd_exit(sp);
	case S_CTX_ALLOCATOR:
	case S_CTX_LOCAL:
		hint_unavailable(error);
		return 0;
	default:
		return 0;
	}
}

int slurm_spank_job_epilog(spank_t sp, int ac, char *av[])
{
	plugstack_parse(ac, av);
	return stepd_job_epilog(sp);
}
