/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_JOBS_H
#define NODEOS_CONTEND_JOBS_H

#include <stdbool.h>

#include "contend/job_record.h"
#include "contention/observed.h"
#include "host/cgroup.h"
#include "host/conf_contention.h"

/*
 * The jobs of this host whose steps are or were observed, from their first step to the end of their
 * cgroup, and when their records are written: each report interval, and when a step or the job
 * ends.
 */
#define JOBS_MAX 4096 /* of a host; later ones have no record */

struct job_entry {
	struct job_record record;
	char cgroup[CGROUP_PATH_MAX]; /* of the job; "": could not be read */
	bool ended; /* the record to be written is the last */
	bool due, sent; /* to be written; by the process that is at work */
	unsigned failed; /* tries to write the last record */
};

struct jobs {
	unsigned n;
	struct job_entry *entry; /* owned */
	struct job_record_writer writer;
	bool writes; /* WRITER is open: there is a directory */
	bool changes; /* the settings have changed: open it anew when it is idle */
	long next; /* monotonic milliseconds of the next records of all jobs */
	long retry; /* the same, before which nothing is written as the last try has failed */
};

/* Where a job's cgroup is found: as in struct watch_host, and the path of "/proc". */
struct jobs_host {
	int cgroup_fd;
	const char *proc;
};

/* Write records as CONF says from now on. Returns 0, or -1: no records, with the reason, until a
 * later jobs_write() finds the user. */
int jobs_configure(struct jobs *jobs, const struct conf_contention *conf, struct errbuf *err);

/*
 * Take what NODE knows after a look: new jobs, totals of steps that have ended (which the caller
 * removes then), and jobs that have ended.
 */
void jobs_look(struct jobs *jobs, const struct jobs_host *host, const struct observed_node *node);

/* Begin to write what is due, and see how the last process ended. Never waits. Returns 0, or -1
 * with the reason. */
int jobs_write(struct jobs *jobs, const struct conf_contention *conf,
	       const struct observed_node *node, struct errbuf *err);

void jobs_free(struct jobs *jobs);

#endif
