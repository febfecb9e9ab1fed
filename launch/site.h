/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LAUNCH_SITE_H
#define NODEOS_LAUNCH_SITE_H

#include "host/conf.h"
#include "launch/step.h"
#include "manifest/request.h"

/* A job on a node of a site. Texts belong to the caller. */
struct site_job {
	const struct conf *conf;
	const char *conf_path; /* for messages */
	uint32_t job_id;
	uid_t uid;
	/* as in struct step_input; NULL: slurmctld cannot be asked */
	int (*load_job)(struct step_job *out, uint32_t job_id, uid_t uid, struct errbuf *err);
};

/*
 * May the job have the isolators of R (allow_NAME of nodeos.conf)? Where they are made, and with no
 * lock held: slurmctld and the user database may answer late. The job's environment is the user's
 * to write, so account and partition come from LOAD_JOB, which is called once, and only when a key
 * for an isolator of R depends on them. Returns 0, or -1 with the reason in ERR.
 */
int site_check_isolators(const struct site_job *j, const struct request *r, struct errbuf *err);

#endif
