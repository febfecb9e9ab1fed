/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_OUTPUT_H
#define NODEOS_CONTEND_OUTPUT_H

#include <stdbool.h>

#include "contend/history.h"
#include "contend/jobs.h"
#include "contend/publish.h"
#include "contend/watch.h"

/* What the daemon writes of a watch, and when: documents, metrics, records of jobs. */
struct output_step {
	uint64_t inode;
	uint64_t print; /* of its ranks and their changes of class, as last written */
	long written; /* monotonic milliseconds; 0: never */
};

struct output {
	struct publisher publisher;
	struct histories histories;
	struct jobs jobs;
	struct jobs_host host;
	unsigned n;
	struct output_step *step; /* owned */
	long metrics, sweep; /* monotonic milliseconds when they are next */
};

/* RUN_FD: the daemon's directory, whose "steps" is made; HOST stays the caller's. */
int output_open(struct output *o, int run_fd, const struct jobs_host *host, struct errbuf *err);

/* Follow new settings. Returns 0, or -1: without records of jobs, with the reason. */
int output_configure(struct output *o, const struct conf_contention *conf, struct errbuf *err);

/* After each look, before steps that have ended are removed. */
void output_look(struct output *o, const struct observed_node *node);

/*
 * After each sample: write what is due. A step's document is due when its ranks or their classes
 * have changed, each OUTPUT_MS, and when it ends; where it is long, less often. Returns 0, or -1
 * with the reason: all else is written.
 */
#define OUTPUT_MS 5000
int output_write(struct output *o, const struct observed_node *node,
		 const struct conf_contention *conf, struct errbuf *err);
void output_close(struct output *o);

#endif
