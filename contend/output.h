/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_OUTPUT_H
#define NODEOS_CONTEND_OUTPUT_H

#include <stdbool.h>

#include "contend/history.h"
#include "contend/jobs.h"
#include "contend/publish.h"
#include "contend/watch.h"

/* What the daemon writes, and when: documents of steps, metrics, records of jobs. */
struct output_step {
	uint64_t inode; /* inode of the step's cgroup directory */
	uint64_t print; /* a hash of its ranks and their classes when it was last written */
	long written; /* when it was last written, in monotonic milliseconds; 0: never */
};

struct output {
	struct publisher publisher;
	struct histories histories;
	struct jobs jobs;
	struct jobs_host host;
	unsigned n;
	struct output_step *step; /* owned */
	long metrics, sweep; /* when metrics and sweep are due next, in monotonic milliseconds */
};

/* Open "steps" below RUN_FD, the daemon's directory; it is made if it is missing. Copies HOST,
 * whose descriptor and path the caller keeps valid. Returns 0, or -1 with the reason. */
int output_open(struct output *o, int run_fd, const struct jobs_host *host, struct errbuf *err);

/* Follow new settings. Returns 0, or -1 with the reason why no records of jobs are written. */
int output_configure(struct output *o, const struct conf_contention *conf, struct errbuf *err);

/* To be called after each look, before steps that have ended are removed. */
void output_look(struct output *o, const struct observed_node *node);

/*
 * Write what is due; to be called after each sample. A step's document is due when its ranks or
 * their classes have changed, OUTPUT_MS after the last one, and when the step ends; a long document
 * is due less often (step_json_pause()). Returns 0, or -1 with one reason; everything else is
 * written.
 */
#define OUTPUT_MS 5000 /* milliseconds */
int output_write(struct output *o, const struct observed_node *node,
		 const struct conf_contention *conf, struct errbuf *err);
void output_close(struct output *o);

#endif
