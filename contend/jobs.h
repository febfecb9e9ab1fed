/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_JOBS_H
#define NODEOS_CONTEND_JOBS_H

#include <stdbool.h>

#include "contend/job_record.h"
#include "contention/observed.h"
#include "host/cgroup.h"
#include "host/conf_contention.h"

/*
 * The jobs of this host with observed steps, from the first such step to the removal of the job's
 * cgroup. Their records are written each report interval, and when a step or the job ends.
 */
#define JOBS_MAX 4096 /* jobs of a host; further ones have no record */

struct job_entry {
	struct job_record record;
	char cgroup[CGROUP_PATH_MAX]; /* the job's directory; "": not known */
	bool ended; /* the next record is the last one */
	bool due; /* the record is to be written */
	bool sent; /* the writer that runs has the record */
	unsigned failed; /* failed attempts to write the record since the last success */
};

struct jobs {
	unsigned n;
	struct job_entry *entry; /* owned */
	struct job_record_writer writer;
	bool writes; /* there is a directory to write to, and WRITER is set up for it */
	bool changes; /* the settings have changed: set up WRITER again when it has ended */
	long next; /* when the records of all jobs are due next, in monotonic milliseconds */
	long retry; /* nothing is written before, as the last attempt failed; same unit */
};

/* Where jobs' cgroups are found: the root of cgroup v2, and the path of "/proc". */
struct jobs_host {
	int cgroup_fd;
	const char *proc;
};

/* Write records as CONF says from now on. Returns 0, or -1 with the reason why none are written,
 * until a later jobs_write() finds the user. */
int jobs_configure(struct jobs *jobs, const struct conf_contention *conf, struct errbuf *err);

/*
 * Update the jobs from NODE after a look: add new jobs, keep totals of steps that have ended (the
 * caller removes these afterwards), and find jobs that have ended.
 */
void jobs_look(struct jobs *jobs, const struct jobs_host *host, const struct observed_node *node);

/* See how the last writer ended, and start one for the records that are due. Never waits. Returns
 * 0, or -1 with the reason. */
int jobs_write(struct jobs *jobs, const struct conf_contention *conf,
	       const struct observed_node *node, struct errbuf *err);

void jobs_free(struct jobs *jobs);

#endif
