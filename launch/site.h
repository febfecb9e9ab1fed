/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LAUNCH_SITE_H
#define NODEOS_LAUNCH_SITE_H

#include "host/conf.h"
#include "launch/step.h"
#include "manifest/request.h"

/* A job on a node of a site. The caller owns the texts. */
struct site_job {
	const struct conf *conf;
	const char *conf_path; /* for messages */
	uint32_t job_id;
	uid_t uid;
	/* as in struct step_input; NULL: slurmctld is not available */
	int (*load_job)(struct step_job *out, uint32_t job_id, uid_t uid, struct errbuf *err);
};

/*
 * May the job have the isolators of R (allow_NAME of nodeos.conf)? Call this when containers are
 * made, without holding a lock: slurmctld and the user database may be slow. The user can write the
 * job's environment, so account and partition come from LOAD_JOB, which is called once, and only if
 * a key for an isolator of R depends on them. Returns 0, or -1 with the reason in ERR.
 */
int site_check_isolators(const struct site_job *j, const struct request *r, struct errbuf *err);

#endif
