/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LAUNCH_SUBMIT_H
#define NODEOS_LAUNCH_SUBMIT_H

#include <stdbool.h>

#include "base/errbuf.h"
#include "manifest/request.h"

/* Options for one container; NULL: not given. */
struct submit_wish {
	const char *cpus; /* --nodeos-cpus */
	const char *mems; /* --nodeos-mems */
	const char *placement; /* --nodeos-placement */
	const char *limits; /* --nodeos-limits */
	const char *lwk; /* --nodeos-lwk */
	const char *guest; /* --nodeos-guest */
	const char *sched; /* --nodeos-sched */
	const char *contention; /* --nodeos-contention */
};

/*
 * Make *R the request for one container NAME from WISH. Returns 0, or -1 with the wrong option in
 * ERR.
 */
int submit_request(struct request *r, const char *name, const struct submit_wish *wish,
		   struct errbuf *err);

/*
 * Does the site (nodeos.conf at CONF_PATH) allow R? Returns 0, or -1 with the key that forbids it.
 */
int submit_check_site(const struct request *r, const char *conf_path, struct errbuf *err);

/*
 * Check VALUE of --nodeos-contention, and whether the site allows it to this user. Slurm's accounts
 * and partitions are not known yet, and only matter for containers.
 */
int submit_check_contention(const char *value, const char *conf_path, struct errbuf *err);

/*
 * Check TEXT, --nodeos-container (NULL: not given), against R (NULL: no request is known here).
 * Ranks are not known yet. If only the nodes know the containers of a running job, they check the
 * name later.
 */
int submit_check_container(const struct request *r, const char *text, bool is_srun, bool new_job,
			   struct errbuf *err);

#define SUBMIT_OPTIONS_MAX 16

/* The options of a heterogeneous job's first component; zeroed at first. */
struct submit_component {
	bool seen;
	char *first[SUBMIT_OPTIONS_MAX]; /* values, or NULL */
};

/*
 * Slurm calls the plugin once for each component of a heterogeneous job, and keeps only one value
 * of an option: the last one would win without a message. Returns -1 if VALUE[i] of option NAME[i],
 * i below N, differs from the first component's.
 */
int submit_same_options(struct submit_component *c, const char *const value[],
			const char *const name[], unsigned n, struct errbuf *err);

#endif
