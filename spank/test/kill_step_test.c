/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * The end of a step waits for slurmctld no longer than the limit, whatever Slurm's function does.
 */
#include "spank/kill_step.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

#include "base/test/tap.h"

/*
 * Stands for slurmstepd's function, which kill_step() looks up in the program. Up to 23.02, Slurm's
 * header declares it with fewer arguments, so that header is not included here.
 */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
int slurm_kill_job_step(void *id, uint16_t signal, uint16_t flags);
#else
int slurm_kill_job_step(uint32_t job_id, uint32_t step_id, uint16_t signal, uint16_t flags);
#endif

static enum { AGREES, REFUSES, IS_AWAY, HAS_ENDED_IT, KILLS_US } slurmctld;

static int *asked; /* number of calls in all processes */

static FILE *log_file; /* stands for Slurm's log; it has the number of slurmstepd's first file */

static int answer(void)
{
	fprintf(log_file, "Contacted SlurmctldHost\n");
	fflush(log_file);
	++*asked;
	while (slurmctld == IS_AWAY)
		pause();
	/* the first two callers die, as when slurmstepd kills the step's processes */
	if (slurmctld == KILLS_US && *asked <= 2)
		kill(getpid(), SIGKILL);
	errno = slurmctld == HAS_ENDED_IT ? ESLURM_ALREADY_DONE : EPERM;
	return slurmctld == AGREES || slurmctld == KILLS_US ? 0 : -1;
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
	asked = mmap(NULL, sizeof(*asked), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (asked == MAP_FAILED)
		return 1;
	ok(log_file != NULL, "the test has Slurm's log open as file descriptor 3");
	is_int(kill_step(7, 2), 0, "kill_step: slurmctld kills the step");
	slurmctld = REFUSES;
	ok(kill_step(7, 2) == -1 && errno == EPERM,
	   "kill_step: a refusal of slurmctld gives its errno");
	slurmctld = HAS_ENDED_IT;
	is_int(kill_step(7, 2), 0, "kill_step: a step that has ended already needs no kill");
	slurmctld = KILLS_US;
	*asked = 0;
	is_int(kill_step(7, 2), 0, "kill_step: retries when its process is killed with the step");
	is_int(*asked, 3, "kill_step: retries until it gets an answer");
	ok(time(NULL) - start < 10, "kill_step: an answer of slurmctld ends the wait");
	slurmctld = IS_AWAY;
	alarm(3 * KILL_STEP_SECONDS);
	start = time(NULL);
	ok(kill_step(7, 2) == -1 && errno == ETIMEDOUT,
	   "kill_step: gives ETIMEDOUT while slurmctld is away");
	ok(time(NULL) - start <= KILL_STEP_SECONDS + 5,
	   "kill_step: ends within its limit while slurmctld is away");
	return tap_done();
}
