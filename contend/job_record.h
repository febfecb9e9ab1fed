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
 * A host's report on a job to the resource manager: the file DIR/JOB/HOST.json has one line of
 * JSON, which "nodeosctl contention collect" merges with the reports of other hosts:
 *
 *   {"nodeos_contention":1,"host":"n1","job":41,"inode":4711,"time":1795207785,"ended":false,
 *    "class":"devil","ranks":3,"turtles":1,"semi_devils":0,"devils":2,"unknown":0,"rate":207.5,
 *    "cpu":2.991,"changes":3,"source":"perf","quality":"A","simulated":false,
 *    "containers":[{"name":"sim","turtles":1,"semi_devils":0,"devils":2,"unknown":0,"cpus":3,
 *    "traffic":12.500}]}
 *
 *   inode    inode of the job's cgroup directory; it changes when the job is requeued
 *   time     Unix time, whole seconds
 *   ended    the job has ended on this host, and this is its last record from this host
 *   class    class of the worst rank, at the last scan that found ranks of the job
 *   ranks    number of ranks at that scan; the next four members have the number of each class
 *   rate misses per 10,000 instructions, over the life of the job; null: unknown
 *   cpu      CPUs that its ranks used at that scan; null: unknown
 *   changes  how often its ranks have changed their class
 *   quality  quality of the row of events; null without counters
 *   containers up to JOB_CONTAINERS_MAX containers with ranks; name null: ranks without container.
 *            cpus: hardware threads that the ranks may use; traffic: bytes sent and received per
 *            10,000 instructions, null: unknown
 */
#define JOB_RECORD_VERSION 1
#define JOB_RECORD_MAX 4096 /* bytes with newline and final NUL */
#define JOB_CONTAINERS_MAX 12 /* containers of a job on a host; further ones are left out */
#define JOB_RECORD_SECONDS 30 /* seconds that a writer may take */

struct job_container {
	char name[REQUEST_NAME_MAX]; /* "": ranks without container */
	unsigned turtles, semi_devils, devils, unknown; /* ranks */
	unsigned cpus;
	uint64_t bytes,
		/* sums over its ranks; OBSERVED_UNKNOWN if the number of one rank is unknown */
		instructions;
};

/*
 * The counts of a job on this host over its life, as plain data. A new one has JOB and INODE; all
 * other members are 0.
 */
struct job_record {
	uint32_t job;
	uint64_t inode; /* inode of the job's cgroup directory */
	/* at the last scan that found ranks of the job: */
	enum rank_class class;
	unsigned turtles, semi_devils, devils, unknown;
	uint64_t cpu; /* thousandths of a CPU, or OBSERVED_UNKNOWN */
	unsigned n_containers;
	struct job_container container[JOB_CONTAINERS_MAX];
	/* totals of steps that have ended */
	uint64_t past_instructions, past_misses, past_changes;
	/* totals of steps that run */
	uint64_t instructions, misses, changes;
};

/* Update R from the job's steps in NODE. */
void job_record_update(struct job_record *r, const struct observed_node *node);
/* Keep the totals of STEP, which has ended. Call it once, before STEP is removed. */
void job_record_end_step(struct job_record *r, const struct observed_step *step);

/* Write the line with its newline to BUF. Returns the length of the line. */
unsigned job_record_print(char buf[JOB_RECORD_MAX], const struct job_record *r,
			  const struct observed_node *node, bool ended);

/*
 * A child process, the writer, writes records, because the directory may be on a server that does
 * not answer. The writer has only the rights of the configured user. There is one writer at a time.
 * A writer is killed after JOB_RECORD_SECONDS, and no other one starts until it has ended.
 */
struct job_record_writer {
	char dir[DIR_PATH_MAX];
	uid_t uid;
	gid_t gid;
	pid_t pid; /* 0: no writer runs */
	int in; /* pipe from the writer, for the reason of its failure */
	long end; /* monotonic milliseconds at which the writer is killed */
	bool killed;
};

struct job_record_text {
	uint32_t job;
	const char *text;
};

/*
 * Set up W for DIR and USER, a name or number that is looked up in the user database ("": root).
 * Returns 0, or -1 with the reason if DIR is no absolute path or there is no such user.
 */
int job_record_open(struct job_record_writer *w, const char *dir, const char *user,
		    struct errbuf *err);
/*
 * Start a writer for the N records T of HOST. The caller may free T and its texts afterwards.
 * Returns 0; 1 if the last writer still runs, so that the caller has to try again later; or -1 with
 * the reason.
 */
int job_record_start(struct job_record_writer *w, const char *host, const struct job_record_text *t,
		     unsigned n, struct errbuf *err);
/*
 * Check, without waiting, whether the writer has ended. Returns 0 if all records are written or no
 * writer was started, 1 if it still runs, or -1 with the reason of its failure.
 */
int job_record_poll(struct job_record_writer *w, struct errbuf *err);

#endif
