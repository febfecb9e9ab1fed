/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COLLECT_REPORTS_H
#define NODEOS_COLLECT_REPORTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "collect/record.h"

/*
 * The directory contention_report_dir: DIR/JOB/HOST.json of nodes, and of ours DIR/JOB/record.json
 * and the files of DIR itself. It is on a shared file system and taken for hostile: of others
 * nothing is read, no symbolic link is followed, and no file is read beyond its bound.
 */
#define REPORT_HOSTS_MAX 16384 /* of a job; more are not read */
#define REPORT_FILE_MAX (32 << 20) /* bytes of a file of ours: the state of 500,000 jobs */

/*
 * Open the directory PATH for the user who runs this: it belongs to that user, and no other may
 * write to it, or it is sticky. Returns its descriptor, or -1 with what to do.
 */
int report_dir_open(const char *path, struct errbuf *err);

/* Open the directory NAME of a job below DIR. Returns its descriptor, or -1 with the reason. */
int report_job_open(int dir, const char *name, struct errbuf *err);

/* A report that is left out: its name in the job's directory (hostile bytes), and why. */
typedef void report_skipped(const char *file, const char *why, void *arg);
typedef void report_read(const struct host_report *h, void *arg);

struct report_reader {
	report_read *read;
	report_skipped *skipped;
	void *arg;
};

/*
 * Call R for each report of JOB in its directory JOB_DIR. Returns 0, or -1 with the reason: the
 * directory cannot be read.
 */
int report_job_read(int job_dir, uint32_t job, const struct report_reader *r, struct errbuf *err);

/*
 * Read the file NAME of ours below DIR. Returns malloc'ed text; NULL with an empty text in ERR:
 * there is none; NULL with the reason.
 */
char *report_file_read(int dir, const char *name, struct errbuf *err);

/* Remove the directory NAME below DIR with its files. Returns 0, or -1 with the reason. */
int report_job_remove(int dir, const char *name, struct errbuf *err);

#define REPORT_RECORD "record.json"

#endif
