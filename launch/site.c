/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "launch/site.h"

#include "container/isolator.h"

/* Does a key for an isolator of R depend on the job's account or partition? */
static bool needs_job(const struct conf *conf, const struct request *r)
{
	for (int i = 0; i < ISOLATOR_COUNT; i++)
		if (request_wants(r, (enum isolator_id)i) &&
		    conf_needs_job(conf, (enum isolator_id)i))
			return true;
	return false;
}

int site_check_isolators(const struct site_job *j, const struct request *r, struct errbuf *err)
{
	struct conf_user user = { .uid = j->uid };
	struct step_job job = { "", "" };

	if (j->load_job && needs_job(j->conf, r)) {
		if (j->load_job(&job, j->job_id, j->uid, err) < 0)
			return errwrap(err, "%.128s depends on the job's account or partition",
				       j->conf_path);
		user.account = *job.account ? job.account : NULL;
		user.partition = *job.partition ? job.partition : NULL;
	}
	return isolators_user_may(r, j->conf, &user, j->conf_path, err);
}
