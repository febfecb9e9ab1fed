/* SPDX-License-Identifier: GPL-2.0-or-later */

/* An answer of slurmctld counts only if it is in time, and for the given job and user. */
#include "spank/load_job.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <time.h>
#include <unistd.h>

#include "base/test/tap.h"

static enum { ANSWERS, REFUSES, IS_AWAY } slurmctld;

static slurm_job_info_t record[2];

/* Stands for slurmstepd's function, which load_job() looks up in the program. */
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

/* Like Slurm's function, which has texts that the system's lacks. */
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
	is_int(load_job(&job, 7, 1, &err), 0, "load_job: a job of an array is found %s", err.text);
	is(job.account, "physics", "load_job: a job of an array has its own account");
	is(job.partition, "",
	   "load_job: a partition with a name that is too long counts as unknown");
	is_int(load_job(&job, 7, 2, &err), -1, "load_job: another user's job is refused");
	is(err.text,
	   "slurmctld reports no account and partition of job 7: No such file or directory",
	   "load_job: an error of the system has the system's text");
	slurmctld = REFUSES;
	is_int(load_job(&job, 7, 1, &err), -1, "load_job: a refusal of slurmctld fails");
	is(err.text,
	   "slurmctld reports no account and partition of job 7: Invalid job id specified",
	   "load_job: an error of Slurm has Slurm's text");
	slurmctld = IS_AWAY;
	start = time(NULL);
	is_int(load_job(&job, 7, 1, &err), -1, "load_job: fails while slurmctld is away: %s",
	       err.text);
	ok(time(NULL) - start <= LOAD_JOB_SECONDS + 5,
	   "load_job: the wait for slurmctld is limited");
	return tap_done();
}
