/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COLLECT_SLURM_H
#define NODEOS_COLLECT_SLURM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * Jobs, their comments and nodes, as Slurm's programs show and change them. Each function that
 * reads or changes them runs one program, without a shell and with a time limit. Functions return 0
 * unless stated otherwise, or -1 with the program's message in ERR.
 */
#define SLURM_NUMBER_MAX 32 /* bytes of a job's number in squeue's form, with the final NUL */
#define SLURM_NAME_MAX 64 /* bytes of a node's or partition's name with the final NUL */
#define SLURM_COMMENT_MAX 1024 /* bytes read of a comment, with the final NUL */
#define SLURM_EXTRA_MAX 8192 /* bytes of a node's Extra, with the final NUL */

enum slurm_job_kind {
	SLURM_JOB_WAITING, /* the job does not run yet, or is completing */
	SLURM_JOB_RUNNING, /* the job runs or is suspended */
	SLURM_JOB_ENDED,
};

struct slurm_job {
	uint32_t job;
	char number[SLURM_NUMBER_MAX]; /* "7"; in an array "7_2", in a heterogeneous job "7+1" */
	enum slurm_job_kind kind;
	int64_t start, end; /* Unix time; 0: unknown */
	char partition[SLURM_NAME_MAX]; /* "": unknown */
};

/* The names of partitions. In a set of partitions, bit I stands for NAME[I]. */
#define SLURM_PARTITIONS_MAX 64 /* partitions after the first 64 are in no set */
struct slurm_partitions {
	unsigned n;
	char name[SLURM_PARTITIONS_MAX][SLURM_NAME_MAX];
};

struct slurm_node {
	char name[SLURM_NAME_MAX];
	unsigned cpus, allocated; /* hardware threads, or cores: what Slurm counts as CPUs */
	bool powered;
	bool open; /* a job may start on it: the node is up, and not drained, reserved or planned */
	uint64_t partitions; /* set of the partitions that have the node */
};

/* Remove the environment's variables that act as options of Slurm's programs. */
void slurm_clean_environment(void);

/*
 * Load all jobs that slurmctld knows, sorted by number. The caller frees *OUT. Returns the number
 * of jobs, or -1.
 */
long slurm_jobs_load(struct slurm_job **out, struct errbuf *err);
const struct slurm_job *slurm_jobs_find(const struct slurm_job *jobs, long n, uint32_t job);

/* Load all nodes of Slurm, sorted by name, and all partitions. The caller frees *OUT. Returns the
 * number of nodes, or -1. */
long slurm_nodes_load(struct slurm_node **out, struct slurm_partitions *partitions,
		      struct errbuf *err);
/* Return the index of the node NAME, or -1. */
long slurm_nodes_index(const struct slurm_node *nodes, long n, const char *name);
/* Return the set of the partition NAME alone; for "", the set of all partitions. */
uint64_t slurm_partition_set(const struct slurm_partitions *p, const char *name);

/* Read or write the AdminComment of JOB, which slurmctld must know. */
int slurm_comment_read(char buf[SLURM_COMMENT_MAX], const struct slurm_job *job,
		       struct errbuf *err);
int slurm_comment_write(const struct slurm_job *job, const char *text, struct errbuf *err);

/* Return 1 if a slurmdbd keeps the jobs, 0 if there is no slurmdbd, or -1. */
int slurm_accounts(struct errbuf *err);

/* A job in the accounting database; for a requeued job, its last run. */
struct slurm_account {
	bool found;
	struct slurm_job job;
	char comment[SLURM_COMMENT_MAX]; /* SystemComment */
};
int slurm_account_read(struct slurm_account *out, uint32_t job, struct errbuf *err);
/* Write the SystemComment of ACCOUNT, which slurm_account_read() has found. */
int slurm_account_write(const struct slurm_account *account, const char *text, struct errbuf *err);

/*
 * Read or write the Extra of a node, "" for none. A text longer than the buffer is an error.
 * slurm_extra_read() returns 1, with a message in ERR, if Slurm has no such node.
 */
int slurm_extra_read(char buf[SLURM_EXTRA_MAX], const char *node, struct errbuf *err);
int slurm_extra_write(const char *node, const char *text, struct errbuf *err);

#endif
