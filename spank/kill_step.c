/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/kill_step.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>

#include <slurm/slurm.h>

int kill_step(uint32_t job_id, uint32_t step_id)
{
#if defined(SLURM_VERSION_NUM) && SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
	slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;
	int (*kill)(slurm_step_id_t *, uint16_t, uint16_t);

	id.job_id = job_id;
	id.step_id = step_id;
#else
	/* up to 23.02 without the last one, of which the function then takes no notice */
	int (*kill)(uint32_t, uint32_t, uint16_t, uint16_t);
#endif
	*(void **)&kill = dlsym(RTLD_DEFAULT, "slurm_kill_job_step");
	if (!kill) {
		errno = ENOSYS;
		return -1;
	}
#if defined(SLURM_VERSION_NUM) && SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
	return kill(&id, SIGKILL, 0) == SLURM_SUCCESS ? 0 : -1;
#else
	return kill(job_id, step_id, SIGKILL, 0) == SLURM_SUCCESS ? 0 : -1;
#endif
}
