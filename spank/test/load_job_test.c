/* SPDX-License-Identifier: GPL-2.0-or-later */

/* An answer of slurmctld counts for that job and user alone, and has a limit of time. */
#include "spank/load_job.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <time.h>
#include <unistd.h>

#include "base/test/tap.h"

static enum { ANSWERS, REFUSES, IS_AWAY } slurmctld;

static slurm_job_info_t record[2];

/* What load_job() looks up in the program, as it is slurmstepd's. */
#undef slurm_load_job
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
int slurm_load_job(job_info_msg_t **resp, slurm_step_id_t id, uint16_t flags)
#else
int slurm_load_job(job_info_msg_t **resp, uint32_t id, uint16_t flags)
#endif
{
	static job_info_msg_t msg = { .record_count = 2, .job_array = record };

	(void)id;
	(void)flags;
	while (slurmctld == IS_AWAY)
		pause();
	*resp = &msg;
	errno = ESLURM_INVALID_JOB_ID;
	return slurmctld == ANSWERS ? 0 : -1;
}

/* As Slurm's, which has texts that the system has not. */
#undef slurm_strerror
char *slurm_strerror(int error)
{
	return error == ESLURM_INVALID_JOB_ID ? (char *)"Invalid job id specified"
					      : strerror(error);
}

int main(void)
{
	static char long_name[300];
	struct errbuf err = { 0 };
	struct step_job job;
	time_t start;

	for (size_t i = 0; i + 1 < sizeof(long_name); i++)
		long_name[i] = 'a';
	record[0] = (slurm_job_info_t){ .job_id = 6, .user_id = 1, .account = (char *)"x" };
	record[1] = (slurm_job_info_t){
		.job_id = 7, .user_id = 1, .account = (char *)"physics", .partition = long_name
	};
	is_int(load_job(&job, 7, 1, &err), 0, "a job of an array %s", err.text);
	is(job.account, "physics", "has its own account");
	is(job.partition, "", "a name that does not fit is not known");
	is_int(load_job(&job, 7, 2, &err), -1, "another user's job");
	is(err.text, "slurmctld does not tell them of job 7: No such file or directory",
	   "the reason is the system's text of the system's error");
	slurmctld = REFUSES;
	is_int(load_job(&job, 7, 1, &err), -1, "slurmctld refuses");
	is(err.text, "slurmctld does not tell them of job 7: Invalid job id specified",
	   "the reason is Slurm's text of its error");
	slurmctld = IS_AWAY;
	start = time(NULL);
	is_int(load_job(&job, 7, 1, &err), -1, "slurmctld is away: %s", err.text);
	ok(time(NULL) - start <= LOAD_JOB_SECONDS + 5, "the wait has an end");
	return tap_done();
}
