/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COLLECT_REPORTS_H
#define NODEOS_COLLECT_REPORTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "collect/record.h"

/*
 * The directory contention_report_dir. Nodes write DIR/JOB/HOST.json; this room writes
 * DIR/JOB/record.json and files in DIR itself. The directory is on a shared file system, so its
 * content is not trusted: files of other users are not read, symbolic links are not followed, and
 * each file is read up to a limit.
 */
#define REPORT_HOSTS_MAX 16384 /* hosts of a job; the reports of further hosts are not read */
/* limit of a file's bytes; enough for the state of 500,000 jobs */
#define REPORT_FILE_MAX (32 << 20)

/*
 * Open the directory PATH. It must belong to the caller, and no other user may be able to write to
 * it unless it is sticky. Returns its descriptor, or -1 with the reason and what to do.
 */
int report_dir_open(const char *path, struct errbuf *err);

/* Open the directory NAME of a job below DIR. Returns its descriptor, or -1 with the reason. */
int report_job_open(int dir, const char *name, struct errbuf *err);

/*
 * Called for a report that is left out. FILE: its name in the job's directory (untrusted bytes).
 * WHY: the reason.
 */
typedef void report_skipped(const char *file, const char *why, void *arg);
/* Called for each report that is read; H is valid during the call. */
typedef void report_read(const struct host_report *h, void *arg);

struct report_reader {
	report_read *read;
	report_skipped *skipped;
	void *arg;
};

/*
 * Read the reports in JOB_DIR, the directory of JOB, and call R->read or R->skipped for each.
 * Returns 0, or -1 with the reason if the directory cannot be read.
 */
int report_job_read(int job_dir, uint32_t job, const struct report_reader *r, struct errbuf *err);

/*
 * Read NAME, a file of this room, below DIR. Returns its text, which the caller frees, or NULL:
 * with an empty ERR if there is no such file, otherwise with the reason.
 */
char *report_file_read(int dir, const char *name, struct errbuf *err);

/* Remove the directory NAME below DIR with its files. Returns 0, or -1 with the reason. */
int report_job_remove(int dir, const char *name, struct errbuf *err);

#define REPORT_RECORD "record.json"

#endif
