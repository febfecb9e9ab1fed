/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COLLECT_COLLECT_H
#define NODEOS_COLLECT_COLLECT_H

#include <stdbool.h>

#include "base/json_out.h"
#include "collect/record.h"
#include "collect/slurm.h"

struct json_object;

/* Print a message, which may hold any bytes. */
typedef void collect_say(const char *text);

/*
 * nodeosctl contention collect with its options; ARGV[0] begins getopt's messages. Returns the exit
 * status: 0 done, 1 failed with messages, 2 wrong usage.
 */
int collect_command(int argc, char **argv, collect_say *say);

/* One run of nodeosctl contention collect; its parts are in job.c, node.c and state.c. */
struct collect {
	int dir; /* contention_report_dir */
	const char *path; /* of it, for messages */
	double now; /* Unix time */
	bool dry; /* change nothing, and say what would be */
	struct json_out *j; /* NULL: text */
	collect_say *say;
	bool record; /* write comments; else files only */
	unsigned grace; /* seconds that an ended job's missing last reports are waited for */
	double keep; /* seconds that the directory of a finished job stays */

	struct slurm_job *jobs;
	long n_jobs;
	int accounts; /* slurmdbd: 1, 0; -1: not asked yet */

	/* the state of this run and of the last one, state.c */
	struct json_object *said, *said_before;
	struct json_object *nodes, *nodes_before;
	struct json_object *finished, *finished_before; /* jobs whose record is final */
	unsigned failures;
};

#define COLLECT_FAILURES_MAX 5 /* then the run ends: Slurm is not well */

/* Print a message, and count a failure. */
void collect_fail(struct collect *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Print a message, unless the last run has printed one with this KEY, too. */
void collect_say_once(struct collect *c, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Load the state of the last run; a missing or broken one is empty. */
void collect_state_load(struct collect *c);
/* Write the state, if it differs from the last run's. */
void collect_state_save(struct collect *c);
void collect_state_free(struct collect *c);

/* Merge and record the reports of the job with the directory NAME. */
void collect_job(struct collect *c, const char *name);

/* Count the ranks of a host's report on a running job. */
void collect_node_add(struct collect *c, const struct host_report *h);
/* Write Extra of all nodes with running jobs, or that had some. */
void collect_nodes(struct collect *c);
/* Take out of Extra of all nodes what collect_nodes() has put there. */
void collect_nodes_clear(struct collect *c);

#endif
