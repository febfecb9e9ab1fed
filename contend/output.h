/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_OUTPUT_H
#define NODEOS_CONTEND_OUTPUT_H

#include <stdbool.h>

#include "contend/history.h"
#include "contend/jobs.h"
#include "contend/publish.h"
#include "contend/watch.h"

/*
 * The files that the daemon writes (documents of steps, metrics, records of jobs), and when it
 * writes them.
 */
struct output_step {
	uint64_t inode; /* inode of the step's cgroup directory */
	uint64_t print; /* hash of its ranks and their classes when its document was last written */
	long written; /* monotonic milliseconds of the last write of its document; 0: never */
	bool failed; /* the last write has failed */
};

enum output_kind { OUTPUT_DOCUMENTS, OUTPUT_METRICS, OUTPUT_RECORDS, OUTPUT_KINDS };

struct output {
	struct publisher publisher;
	struct histories histories;
	struct jobs jobs;
	struct jobs_host host;
	unsigned n;
	struct output_step *step; /* owned */
	long metrics, sweep; /* monotonic milliseconds at which metrics and the sweep are due */
	/* for each kind of file, why the last write of such a file failed; "": it succeeded */
	struct errbuf failed[OUTPUT_KINDS];
};

/*
 * Open "steps" below RUN_FD, the daemon's directory, after creating it if it is missing. Copies
 * HOST; the caller keeps its descriptor and path valid. Returns 0, or -1 with the reason.
 */
int output_open(struct output *o, int run_fd, const struct jobs_host *host, struct errbuf *err);

/* Use new settings. Returns 0, or -1 with the reason why no records of jobs can be written. */
int output_configure(struct output *o, const struct conf_contention *conf, struct errbuf *err);

/* Remember the ranks of NODE. Call this after each scan, before ended steps are removed. */
void output_update(struct output *o, const struct observed_node *node);

/*
 * Write the files that are due. Call this after each sample. A step's document is due when its
 * ranks or their classes have changed, OUTPUT_MS after the last write, and when the step ends; a
 * long document is due less often (step_json_pause()). Returns 0, or -1 with the reason why one
 * file could not be written, now or when it was last due; the other files are written.
 */
#define OUTPUT_MS 5000 /* milliseconds */
int output_write(struct output *o, const struct observed_node *node,
		 const struct conf_contention *conf, struct errbuf *err);
void output_close(struct output *o);

#endif
