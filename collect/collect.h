/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COLLECT_COLLECT_H
#define NODEOS_COLLECT_COLLECT_H

#include <stdbool.h>

#include "base/json_out.h"
#include "collect/record.h"
#include "collect/slurm.h"

struct json_object;

/* Print TEXT, which may contain any bytes, as one message. */
typedef void collect_say(const char *text);

/*
 * Run "nodeosctl contention collect" with its options; ARGV[0] begins the messages of getopt.
 * Returns the exit status: 0 success, 1 failure with messages, 2 wrong usage.
 */
int collect_command(int argc, char **argv, collect_say *say);

/* One run of "nodeosctl contention collect"; job.c, node.c and state.c have its parts. */
struct collect {
	int dir; /* descriptor of contention_report_dir */
	const char *path; /* its path, for messages */
	double now; /* Unix time */
	bool dry; /* true: change nothing, and print what a run would do */
	struct json_out *j; /* prints JSON; NULL: print text */
	collect_say *say;
	bool record; /* true: write records to the jobs' comments, too; false: to files only */
	unsigned grace; /* seconds to wait for the last reports of a job that has ended */
	double keep; /* seconds for which the directory of a finished job stays */

	struct slurm_job *jobs;
	long n_jobs;
	int accounts; /* 1: Slurm has a slurmdbd; 0: it has none; -1: not known yet */
	bool silent; /* slurmdbd did not answer, so this run does not ask it again */

	/* the state of this run, and that of the last run (..._before); see state.c */
	struct json_object *said, *said_before; /* keys of messages that were printed */
	struct json_object *nodes, *nodes_before; /* numbers of ranks on each node */
	struct json_object *finished, *finished_before; /* jobs whose record is final */
	bool ahead; /* the file of the state was written by collect_state_write_ahead() */
	unsigned failures;
};

#define COLLECT_FAILURES_MAX 5 /* after 5 failures the run ends: Slurm may be down */

/* Print a message and count it as a failure. */
void collect_fail(struct collect *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Print a message, unless this run or the last one printed a message with the same KEY. */
void collect_say_once(struct collect *c, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Load the state of the last run; it is empty if its file is missing or damaged. */
void collect_state_load(struct collect *c);
/*
 * Write the state before this run changes nodes, with NODES in place of C->nodes. If this run is
 * killed, or cannot write its final state, the next run knows which nodes may have changed. Returns
 * 0, or -1 after a message.
 */
int collect_state_write_ahead(struct collect *c, struct json_object *nodes);
/* Write the state of this run, if it differs from that of the last one. */
void collect_state_save(struct collect *c);
void collect_state_free(struct collect *c);

/* Merge and record the reports of the job whose directory is NAME. */
void collect_job(struct collect *c, const char *name);

/*
 * Add the ranks in H, a host's report on a running job, to the numbers of ranks of the host's node.
 */
void collect_node_add(struct collect *c, const struct host_report *h);
/* Write the Extra of each node that has running jobs, or had some at the last run. */
void collect_nodes(struct collect *c);
/* Remove the members that collect_nodes() wrote from the Extra of each node. */
void collect_nodes_clear(struct collect *c);

#endif
