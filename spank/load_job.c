/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/load_job.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include <slurm/slurm.h>

#include "host/apart.h"

struct question {
	uint32_t job_id;
	uid_t uid;
};

struct answer {
	int error; /* errno or an error of Slurm; 0: JOB is filled in */
	struct step_job job;
};
_Static_assert(sizeof(struct answer) <= APART_RESULT_MAX, "an answer fits into one message");

static int load_job_load(job_info_msg_t **out, uint32_t job_id)
{
#if defined(SLURM_VERSION_NUM) && SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
	slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;
	int (*call)(job_info_msg_t **, slurm_step_id_t, uint16_t);

	id.job_id = job_id;
#else
	int (*call)(job_info_msg_t **, uint32_t, uint16_t);
#endif
	*(void **)&call = dlsym(RTLD_DEFAULT, "slurm_load_job");
	if (!call) {
		errno = ENOSYS;
		return -1;
	}
#if defined(SLURM_VERSION_NUM) && SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
	return call(out, id, SHOW_ALL) == SLURM_SUCCESS ? 0 : -1;
#else
	return call(out, job_id, SHOW_ALL) == SLURM_SUCCESS ? 0 : -1;
#endif
}

/* Copy FROM; if it does not fit, TO stays "", which means unknown. */
static void load_job_copy(char to[STEP_JOB_NAME_MAX], const char *from)
{
	if (from && strlen(from) < STEP_JOB_NAME_MAX)
		memcpy(to, from, strlen(from) + 1);
}

/* Runs in the separate process, whose end frees the message. */
static void load_job_ask_apart(void *arg, void *result)
{
	const struct question *q = arg;
	struct answer *a = result;
	job_info_msg_t *msg = NULL;

	errno = 0;
	if (load_job_load(&msg, q->job_id) < 0 || !msg) {
		a->error = errno ? errno : EIO;
		return;
	}
	a->error = ENOENT;
	for (uint32_t i = 0; i < msg->record_count; i++) {
		const slurm_job_info_t *job = &msg->job_array[i];

		if (job->job_id != q->job_id || job->user_id != q->uid)
			continue;
		a->error = 0;
		load_job_copy(a->job.account, job->account);
		load_job_copy(a->job.partition, job->partition);
	}
}

/* Slurm's error numbers are above the system's; slurm_strerror() has texts for both. */
static int load_job_refuse(struct errbuf *err, uint32_t job_id, int error)
{
	char *(*text)(int);

	*(void **)&text = dlsym(RTLD_DEFAULT, "slurm_strerror");
	if (!text)
		return errprintf(err,
				 "slurmctld reports no account and partition of job %u: error %d",
				 job_id, error);
	return errprintf(err, "slurmctld reports no account and partition of job %u: %.200s",
			 job_id, text(error));
}

int load_job(struct step_job *out, uint32_t job_id, uid_t uid, struct errbuf *err)
{
	struct question question = { job_id, uid };
	struct answer answer = { .error = ECHILD };
	struct apart a = {
		.work = load_job_ask_apart,
		.arg = &question,
		.size = sizeof(answer),
		.keep_fd = -1,
		.seconds = LOAD_JOB_SECONDS,
	};
	struct errbuf why = { 0 };

	switch (apart_run(&a, &answer, &why)) {
	case APART_DONE:
		break;
	case APART_LATE:
		return errprintf(err,
				 "slurmctld has not reported the account and partition of job %u "
				 "within %d s",
				 job_id, LOAD_JOB_SECONDS);
	default:
		return errprintf(err, "slurmctld cannot be queried for job %u: %.200s", job_id,
				 why.text);
	}
	if (answer.error)
		return load_job_refuse(err, job_id, answer.error);
	*out = answer.job;
	return 0;
}
