/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The end of a step waits for slurmctld no longer than it says, whatever Slurm's function does. */
#include "spank/kill_step.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <slurm/slurm_version.h>

#include "base/test/tap.h"

/*
 * What kill_step() looks up in the program, as it is slurmstepd's, and calls; Slurm's header, which
 * declares it with fewer arguments up to 23.02, is not included here.
 */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
int slurm_kill_job_step(void *id, uint16_t signal, uint16_t flags);
#else
int slurm_kill_job_step(uint32_t job_id, uint32_t step_id, uint16_t signal, uint16_t flags);
#endif

static enum { AGREES, REFUSES, IS_AWAY } slurmctld;

static FILE *log_file; /* Slurm's, on the number that slurmstepd's first file has */

static int answer(void)
{
	fprintf(log_file, "Contacted SlurmctldHost\n");
	fflush(log_file);
	while (slurmctld == IS_AWAY)
		pause();
	errno = EPERM;
	return slurmctld == AGREES ? 0 : -1;
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
int slurm_kill_job_step(void *id, uint16_t signal, uint16_t flags)
{
	(void)id;
	(void)signal;
	(void)flags;
	return answer();
}
#else
int slurm_kill_job_step(uint32_t job_id, uint32_t step_id, uint16_t signal, uint16_t flags)
{
	(void)signal;
	(void)flags;
	errno = EINVAL;
	return job_id == 7 && step_id == 2 ? answer() : -1;
}
#endif

int main(void)
{
	time_t start = time(NULL);

	log_file = dup2(open("/dev/null", O_WRONLY), 3) == 3 ? fdopen(3, "w") : NULL;
	ok(log_file != NULL, "Slurm has its log open as file 3");
	is_int(kill_step(7, 2), 0, "slurmctld kills the step");
	slurmctld = REFUSES;
	ok(kill_step(7, 2) == -1 && errno == EPERM, "it refuses, and errno says why");
	ok(time(NULL) - start < 10, "neither takes long");
	slurmctld = IS_AWAY;
	alarm(3 * KILL_STEP_SECONDS);
	start = time(NULL);
	ok(kill_step(7, 2) == -1 && errno == ETIMEDOUT, "it is away: there is an end all the same");
	ok(time(NULL) - start <= KILL_STEP_SECONDS + 5, "in time");
	return tap_done();
}
