/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_LEDGER_H
#define NODEOS_CONTAINER_LEDGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "container/job_plan.h"
#include "host/cgroup.h"
#include "host/partition.h"

/*
 * The owners of CPUs and memory nodes on this node: one text file per job in STATE_DIR (root's,
 * mode 0700, on a tmpfs so that a boot empties it), named by the inode of the job's cgroup
 * directory, which differs after a requeue and for a reused job id. An entry lives as long as that
 * directory; ledger_open() removes all others. The ledger does not keep what the kernel shows
 * (effective CPUs, pids).
 */
#define LEDGER_REST "-" /* the rest outside of all containers */
#define LEDGER_PLACES_MAX ((REQUEST_CONTAINERS_MAX + 2) * REQUEST_NAME_MAX)

#define LEDGER_TASK_MAX 24

/*
 * Bounds of what every launch on the node must read of one user: steps of a job, bytes of a job,
 * and bytes of all jobs of the user. Entries of up to LEDGER_FREE_MAX bytes do not count: a step
 * without containers is never refused.
 */
#define LEDGER_STEPS_MAX 1024u
#define LEDGER_ENTRY_MAX (1u << 20)
#define LEDGER_USER_MAX (4u << 20)
#define LEDGER_FREE_MAX (16u << 10)

/*
 * A placed rank and its CPUs. The kernel no longer shows this binding once the rank's threads bind
 * themselves.
 */
struct ledger_rank {
	char task[LEDGER_TASK_MAX]; /* its directory below the step's "user", "task_0" */
	char place[REQUEST_NAME_MAX]; /* in the form of ledger_step.places; never "none" */
	struct idset cpus;
};

struct ledger_step {
	uint64_t inode; /* of the step's cgroup directory */
	uint32_t step_id;
	unsigned ranks; /* on this node */
	char cgroup[CGROUP_PATH_MAX];
	/* places of its ranks, "sim,vda": containers, "none", LEDGER_REST; NULL: none yet, see
	 * ledger_step_places() */
	char *places;
	struct idset cpus; /* CPUs of its ranks, if they divide the container */
	/*
	 * number of its ranks in containers or the rest, after ledger_step_load_ranks(); 0 while it
	 * launches
	 */
	unsigned n_placed;
	struct ledger_rank *placed;
	/*
	 * the ranks as text of the entry, until loaded: lines "rank ...", and the form of
	 * rank_runs.h
	 */
	char *rank_lines, *rank_runs;
	/* its ranks have no CPUs of their own yet, or Slurm may still bind them */
	bool launching;
	enum partition partition; /* of the step's directory "user", see fence.h */
	struct idset fence; /* CPUs of this partition */
	char *request; /* of a step container; NULL: the step uses the job's */
	struct job_plan *plan; /* of a step container; NULL: the step uses the job's */
	char *unknown; /* lines of a later release; NULL: none */
};

struct ledger_job {
	uint64_t inode;
	uint32_t job_id;
	uid_t uid;
	char cgroup[CGROUP_PATH_MAX];
	char *request; /* of the job plan; NULL: no job plan */
	struct job_plan *plan;
	/* memory nodes for its ranks outside of confined containers; empty: not chosen, or all */
	struct idset share;
	/* the bytes of SHARE that the job's memory needs; ranks of other jobs may use the rest */
	uint64_t share_bytes;
	char *unknown; /* lines of a later release about the job itself; NULL: none */
	bool light; /* read without its ranks: ledger_write() refuses it */
	unsigned n_steps;
	struct ledger_step *step;
};

struct ledger; /* an open and locked state directory */

/* Which entries to read. */
struct ledger_whose {
	uid_t uid; /* the owner; (uid_t)-1: every user */
	unsigned long job; /* its number; 0: every job */
};

/*
 * Open STATE_DIR (made if missing), lock it and remove the entries of jobs and steps that no longer
 * live below CGROUP_FD. Waits at most TIMEOUT seconds for the lock. Hold it briefly.
 */
int ledger_open(struct ledger **out, const char *state_dir, int cgroup_fd, unsigned timeout,
		struct errbuf *err);
void ledger_close(struct ledger *l);

/*
 * Return the open state directory, for files beside the entries. The ledger owns it: do not close
 * it.
 */
int ledger_dir(const struct ledger *l);

/*
 * Read the entry of the job with this inode without the lock: another process may be replacing it;
 * *OUT is NULL without an entry. Use it for values that stay the same while the job lives.
 */
int ledger_peek(const char *state_dir, uint64_t inode, struct ledger_job **out, struct errbuf *err);

/* A ledger to read without opening it. */
struct ledger_at {
	const char *state_dir;
	int cgroup_fd; /* only entries of directories below this one */
};

/*
 * Call FN as ledger_each_of() does, but without the lock: for each entry whose directory lives
 * below AT's CGROUP_FD, and with its live steps only; other processes may be replacing entries. It
 * is for users' queries, which may be frequent: no launch waits for them.
 */
int ledger_look(const struct ledger_at *at, const struct ledger_whose *whose,
		int (*fn)(const struct ledger_job *job, void *arg), void *arg, struct errbuf *bad,
		struct errbuf *err);

/* Read the entry of the job with this inode; *OUT is NULL without an entry. Free with
 * ledger_job_free. */
int ledger_read(struct ledger *l, uint64_t inode, struct ledger_job **out, struct errbuf *err);

/* errbuf.code of errors of this file; codes of the planner pass through this room and are lower. */
enum ledger_refusal {
	LEDGER_OK, /* none, or an error of another kind */
	LEDGER_BOUND = PLAN_REFUSALS, /* the entry would exceed a bound */
};

/*
 * Write the entry of JOB, new or in place of the old one. -1 with the reason, and the entry
 * unchanged: JOB is light, the file cannot be written, or (LEDGER_BOUND) it would grow beyond a
 * bound: LEDGER_STEPS_MAX steps or LEDGER_ENTRY_MAX bytes of a job, LEDGER_USER_MAX bytes of its
 * user's jobs on this node.
 */
int ledger_write(struct ledger *l, const struct ledger_job *job, struct errbuf *err);
int ledger_remove(struct ledger *l, uint64_t inode, struct errbuf *err);

/*
 * Call FN for every readable entry, read without its ranks (light). Problems of unreadable entries
 * go to BAD; the memory nodes that they mention, and those in lines of a later release, still count
 * as taken and are added to UNREAD unless that is NULL. FN returns -1 (failed), 0, or 1: it took
 * over what JOB holds (not *JOB itself).
 */
int ledger_each(struct ledger *l, int (*fn)(const struct ledger_job *job, void *arg), void *arg,
		struct idset *unread, struct errbuf *bad, struct errbuf *err);

/*
 * As ledger_each(), for the entries that WHOSE selects, with the text of their ranks. Of other
 * entries only the first lines are read.
 */
int ledger_each_of(struct ledger *l, const struct ledger_whose *whose,
		   int (*fn)(const struct ledger_job *job, void *arg), void *arg,
		   struct errbuf *bad, struct errbuf *err);

/* Write the path of the entry of the job with this inode into BUF, for a look without the lock. */
void ledger_entry_path(char *buf, size_t size, const char *state_dir, uint64_t inode);

/* ------------------------------------------------------------------ ledger_job.c */

/* Return a job without steps, to be freed by ledger_job_free(), or NULL when out of memory. */
struct ledger_job *ledger_job_new(const struct cgroup_place *place, uint32_t job_id, uid_t uid);
void ledger_job_free(struct ledger_job *job); /* NULL does nothing */

/* Can JOB's entry go: no plan, no step, no share, no line of a later release? */
bool ledger_job_is_empty(const struct ledger_job *job);

/*
 * ledger_job_step() returns the step with this inode, or NULL; ledger_job_add_step() appends one,
 * and returns NULL when out of memory. JOB owns them; adding or deleting a step moves them.
 */
struct ledger_step *ledger_job_step(struct ledger_job *job, uint64_t step_inode);
struct ledger_step *ledger_job_add_step(struct ledger_job *job);
void ledger_job_del_step(struct ledger_job *job, uint64_t step_inode);

/* Append a rank to S->placed. Returns it, or NULL when out of memory. */
struct ledger_rank *ledger_step_add_rank(struct ledger_step *s);
void ledger_step_clear_ranks(struct ledger_step *s); /* loaded or not */

/* The places of S, "" for none. */
const char *ledger_step_places(const struct ledger_step *s);
/*
 * Add PLACE to the places of S; ledger_step_set_places() replaces them by PLACES. -1: out of
 * memory. ledger_step_in(): are ranks of S in PLACE?
 */
int ledger_step_add(struct ledger_step *s, const char *place);
int ledger_step_set_places(struct ledger_step *s, const char *places);
bool ledger_step_in(const struct ledger_step *s, const char *place);
/*
 * Are ranks of S in container PLACE of the job plan? A step with containers of its own has none
 * there.
 */
bool ledger_step_in_job_plan(const struct ledger_step *s, const char *place);

/* ----------------------------------------------------------------- ledger_ranks.c */

/*
 * Fill S->placed from the text of the entry, unless that is done. -1 with the reason if the text is
 * damaged; the text stays unchanged.
 */
int ledger_step_load_ranks(struct ledger_step *s, struct errbuf *err);

/* Remove the ranks whose directory below CGROUP_FD is gone. */
void ledger_step_drop_ended(struct ledger_step *s, int cgroup_fd);

/* ----------------------------------------------------------------- ledger_text.c */

/* Does the entry of JOB have lines that this release does not know? WHY then names one. Every write
 * keeps them. */
bool ledger_job_of_later_release(const struct ledger_job *job, struct errbuf *why);

#endif
