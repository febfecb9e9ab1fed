/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/kill_step.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>

#include <slurm/slurm.h>

#include "host/apart.h"

#define KILL_STEP_TRIES 5

struct order {
	uint32_t job_id, step_id;
};

static int ask_slurmctld(const struct order *o)
{
#if defined(SLURM_VERSION_NUM) && SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
	slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;
	int (*kill)(slurm_step_id_t *, uint16_t, uint16_t);

	id.job_id = o->job_id;
	id.step_id = o->step_id;
#else
	/* up to Slurm 23.02 the function has no last argument, and ignores this one */
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
	return kill(o->job_id, o->step_id, SIGKILL, 0) == SLURM_SUCCESS ? 0 : -1;
#endif
}

/* RESULT: an errno; 0: done, or the step has ended already. */
static void kill_step_ask_apart(void *arg, void *result)
{
	if (ask_slurmctld(arg) < 0 && errno != ESLURM_ALREADY_DONE)
		*(int *)result = errno;
}

/*
 * slurmstepd kills all processes of its step except itself. If another node or the user kills the
 * step at the same time, the process that queries slurmctld dies, too: try again.
 */
static enum apart_end kill_step_try(const struct apart *a, int *error)
{
	enum apart_end end = APART_FAILED;
	struct errbuf ignored;

	for (int i = 0; end == APART_FAILED && i < KILL_STEP_TRIES; i++)
		end = apart_run(a, error, &ignored);
	return end;
}

int kill_step(uint32_t job_id, uint32_t step_id)
{
	struct order order = { job_id, step_id };
	struct apart a = {
		.work = kill_step_ask_apart,
		.arg = &order,
		.size = sizeof(int),
		.keep_fd = -1,
		.seconds = KILL_STEP_SECONDS,
	};
	int error = 0;

	switch (kill_step_try(&a, &error)) {
	case APART_DONE:
		break;
	case APART_LATE:
		error = ETIMEDOUT;
		break;
	default:
		error = ECHILD;
		break;
	}
	errno = error;
	return error ? -1 : 0;
}
