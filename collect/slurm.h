/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COLLECT_SLURM_H
#define NODEOS_COLLECT_SLURM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * Jobs, records and nodes as Slurm's programs show and change them: each call is one program,
 * without a shell, with a limit of time. Functions return -1 with the program's own words.
 */
#define SLURM_NUMBER_MAX 32 /* bytes of a job's number as squeue prints it */
#define SLURM_COMMENT_MAX 1024 /* bytes that are read of a comment, with the final NUL */
#define SLURM_EXTRA_MAX 8192 /* the same of a node's Extra */

enum slurm_job_kind {
	SLURM_JOB_WAITING, /* it does not run yet, or is just ending */
	SLURM_JOB_RUNNING, /* also suspended */
	SLURM_JOB_ENDED,
};

struct slurm_job {
	uint32_t job;
	char number[SLURM_NUMBER_MAX]; /* "7", "7_2" of an array, "7+1" of a heterogeneous job */
	enum slurm_job_kind kind;
	int64_t start, end; /* Unix time; 0: not known */
};

/* Keep options that the caller's environment has for Slurm's programs from them. */
void slurm_clean_environment(void);

/* All jobs that slurmctld knows, by number; free() *OUT. Returns how many, or -1. */
long slurm_jobs_load(struct slurm_job **out, struct errbuf *err);
const struct slurm_job *slurm_jobs_find(const struct slurm_job *jobs, long n, uint32_t job);

/* The AdminComment of a job that slurmctld knows. */
int slurm_comment_read(char buf[SLURM_COMMENT_MAX], const struct slurm_job *job,
		       struct errbuf *err);
int slurm_comment_write(const struct slurm_job *job, const char *text, struct errbuf *err);

/* Whether jobs are kept by slurmdbd: 1, 0, or -1. */
int slurm_accounts(struct errbuf *err);

/* A job in the database; of one that was requeued, its last run. */
struct slurm_account {
	bool found;
	struct slurm_job job;
	char comment[SLURM_COMMENT_MAX]; /* SystemComment */
};
int slurm_account_read(struct slurm_account *out, uint32_t job, struct errbuf *err);
int slurm_account_write(uint32_t job, const char *text, struct errbuf *err);

/* Extra of a node, "" for none. A text that does not fit is an error. */
int slurm_extra_read(char buf[SLURM_EXTRA_MAX], const char *node, struct errbuf *err);
int slurm_extra_write(const char *node, const char *text, struct errbuf *err);

#endif
