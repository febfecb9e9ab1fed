/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_JOBS_H
#define NODEOS_CONTEND_JOBS_H

#include <stdbool.h>

#include "contend/job_record.h"
#include "contention/observed.h"
#include "host/cgroup.h"
#include "host/conf_contention.h"

/*
 * The jobs of this host that have or had observed steps, until the job's cgroup is removed. Their
 * records are written once each report interval, and when a step or the job ends.
 */
#define JOBS_MAX 4096 /* jobs of a host; further jobs have no record */

struct job_entry {
	struct job_record record;
	char cgroup[CGROUP_PATH_MAX]; /* the job's directory; "": unknown */
	bool ended; /* the job has ended, and its next record is the last one */
	bool due; /* the record must be written */
	bool sent; /* the record was given to the running writer */
	bool last; /* the record that was sent says that the job has ended */
	unsigned failed; /* failed attempts to write the record since the last success */
};

struct jobs {
	unsigned n;
	struct job_entry *entry; /* owned */
	struct job_record_writer writer;
	bool writes; /* true: there is a directory to write to, and WRITER is set up for it */
	/* true: the settings have changed, so WRITER must be set up again after it has ended */
	bool changes;
	long next; /* monotonic milliseconds at which the records of all jobs are due */
	/* after a failure, nothing is written before this time, in monotonic milliseconds */
	long retry;
	struct errbuf failed; /* why the last attempt has failed; "": it has succeeded */
};

/* Where jobs' cgroups are found: the root of cgroup v2, and the path of "/proc". */
struct jobs_host {
	int cgroup_fd;
	const char *proc;
};

/*
 * Write records according to CONF from now on. Returns 0, or -1 with the reason why no record can
 * be written until a later jobs_write() finds the user.
 */
int jobs_configure(struct jobs *jobs, const struct conf_contention *conf, struct errbuf *err);

/*
 * Update the jobs from NODE after a scan: add new jobs, keep the totals of steps that have ended,
 * and find jobs that have ended. The caller removes ended steps from NODE afterwards.
 */
void jobs_update(struct jobs *jobs, const struct jobs_host *host, const struct observed_node *node);

/*
 * Find jobs whose cgroup is gone, between two scans, which may be 30 s apart. So the last record,
 * with the counts of the last sample, need not wait for the next scan. Makes one system call for
 * each job.
 */
void jobs_find_ended(struct jobs *jobs, const struct jobs_host *host);

/*
 * Get the result of the last writer, and start a writer for the records that are due. Never waits.
 * Returns 0, or -1 with the reason why the last attempt has failed.
 */
int jobs_write(struct jobs *jobs, const struct conf_contention *conf,
	       const struct observed_node *node, struct errbuf *err);

void jobs_free(struct jobs *jobs);

#endif
