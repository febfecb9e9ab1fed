/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LAUNCH_SUBMIT_H
#define NODEOS_LAUNCH_SUBMIT_H

#include <stdbool.h>

#include "base/errbuf.h"
#include "manifest/request.h"

/* What options say of one container; NULL: not given. */
struct submit_wish {
	const char *cpus; /* --nodeos-cpus */
	const char *mems; /* --nodeos-mems */
	const char *sched; /* --nodeos-sched */
};

/* Make *R the request for one container NAME as WISH says. -1 with the option that is wrong in ERR.
 */
int submit_request(struct request *r, const char *name, const struct submit_wish *wish,
		   struct errbuf *err);

/* Does the site (nodeos.conf at CONF_PATH) allow R? 0, or -1 with the key that does not. */
int submit_check_site(const struct request *r, const char *conf_path, struct errbuf *err);

/*
 * TEXT, --nodeos-container (NULL: not given), against R, NULL: no request is known here; ranks are
 * not known yet. A job that runs already may have containers that only its nodes know of, and these
 * judge the name.
 */
int submit_check_container(const struct request *r, const char *text, bool is_srun, bool new_job,
			   struct errbuf *err);

#define SUBMIT_OPTIONS_MAX 16

/* The options of a heterogeneous job's first component; starts zeroed. */
struct submit_component {
	bool seen;
	char *first[SUBMIT_OPTIONS_MAX]; /* values, or NULL */
};

/*
 * Slurm asks once for every component of a heterogeneous job, and keeps one value of an option for
 * all of them: different ones would silently become the last. -1 when VALUE[i] of option NAME[i], i
 * below N, is not as in the first.
 */
int submit_same_options(struct submit_component *c, const char *const value[],
			const char *const name[], unsigned n, struct errbuf *err);

#endif
