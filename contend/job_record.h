/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_JOB_RECORD_H
#define NODEOS_CONTEND_JOB_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "base/fileio.h"
#include "contention/observed.h"

/*
 * What a host says of a job to the resource manager: DIR/JOB/HOST.json, one line of JSON that
 * nodeosctl contention collect merges with those of other hosts:
 *
 *   {"nodeos_contention":1,"host":"n1","job":41,"inode":4711,"time":1795207785,"ended":false,
 *    "class":"devil","ranks":3,"turtles":1,"semi_devils":0,"devils":2,"unknown":0,"rate":207.5,
 *    "cpu":2.991,"changes":3,"source":"perf","quality":"A","simulated":false}
 *
 *   inode    of the job's cgroup directory: another one is another run of the job (a requeue)
 *   time     Unix time, whole seconds
 *   ended    the job has ended on this host, and this is its last record here
 *   class    of the worst rank that runs, or ran last; ranks and the numbers by class: of the same
 *            moment
 *   rate     misses for 10,000 instructions of the ranks that run and of steps that have ended;
 *            null: not known
 *   cpu      CPUs that its ranks use, or used last; null: not known
 *   changes  how often these ranks changed their class
 *   quality  of the row of events; null without counters
 */
#define JOB_RECORD_VERSION 1
#define JOB_RECORD_MAX 1024 /* bytes with newline and final NUL */
#define JOB_RECORD_SECONDS 30 /* that writing records may take */

/* What is known of a job over its life here: plain data. A new one is all 0 but JOB and INODE. */
struct job_record {
	uint32_t job;
	uint64_t inode; /* of the job's cgroup directory */
	/* of the last look that had ranks of the job */
	enum rank_class class;
	unsigned turtles, semi_devils, devils, unknown;
	uint64_t cpu; /* thousandths of a CPU, or OBSERVED_UNKNOWN */
	/* of steps that have ended, and of those that run */
	uint64_t past_instructions, past_misses, past_changes;
	uint64_t instructions, misses, changes;
};

/* Take what NODE knows of the job's steps. */
void job_record_look(struct job_record *r, const struct observed_node *node);
/* Keep the totals of a step of the job that ends: once, before it is removed from its node. */
void job_record_end_step(struct job_record *r, const struct observed_step *step);

/* Write the line, with its newline; returns its length. */
unsigned job_record_print(char buf[JOB_RECORD_MAX], const struct job_record *r,
			  const struct observed_node *node, bool ended);

/*
 * Records are written by a process of its own with the rights of the user alone: the directory may
 * be on a server that does not answer. There is one such process at a time; it is killed after
 * JOB_RECORD_SECONDS, and while the kernel holds it nothing more is written.
 */
struct job_record_writer {
	char dir[DIR_PATH_MAX];
	uid_t uid;
	gid_t gid;
	pid_t pid; /* 0: none is at work */
	int in; /* its reason when it fails */
	long end; /* monotonic_ms() when it is killed */
	bool killed;
};

struct job_record_text {
	uint32_t job;
	const char *text;
};

/* USER: a name or a number; "": root. Asks the user database once. Returns 0, or -1: there is no
 * such user. */
int job_record_open(struct job_record_writer *w, const char *dir, const char *user,
		    struct errbuf *err);
/*
 * Begin to write N records of HOST, of which T and its texts may go afterwards. Returns 0; 1: the
 * last process is still at work, try again later with the records of then; -1 with the reason.
 */
int job_record_start(struct job_record_writer *w, const char *host, const struct job_record_text *t,
		     unsigned n, struct errbuf *err);
/* Never waits. Returns 0: all is written, or nothing was begun; 1: still at work; -1: it failed. */
int job_record_poll(struct job_record_writer *w, struct errbuf *err);

#endif
