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
 * Who holds which CPUs and memory nodes on this node: one text file per job in
 * STATE_DIR (root's, mode 0700, on a tmpfs so that a boot empties it), named by the
 * inode of the job's cgroup directory, which no requeue and no reused job id repeats.
 * An entry lives as long as that directory; every open sweeps the others away.
 * What the kernel can be asked for (effective CPUs, pids) is not kept here.
 */
#define LEDGER_REST "-" /* what the containers leave */
#define LEDGER_PLACES_MAX ((REQUEST_CONTAINERS_MAX + 2) * REQUEST_NAME_MAX)

#define LEDGER_TASK_MAX 24

/*
 * Bounds of what one user makes every launch on the node read: a job's steps and bytes, and the
 * bytes of all of a user's jobs, of which entries of LEDGER_FREE_MAX bytes are not counted: a step
 * without containers is never refused.
 */
#define LEDGER_STEPS_MAX 1024u
#define LEDGER_ENTRY_MAX (1u << 20)
#define LEDGER_USER_MAX (4u << 20)
#define LEDGER_FREE_MAX (16u << 10)

/* A rank as it was placed: what it was bound to is not what the kernel shows once its threads bind
 * themselves. */
struct ledger_rank {
	char task[LEDGER_TASK_MAX]; /* its directory below the step's "user", "task_0" */
	char place[REQUEST_NAME_MAX]; /* as in ledger_step.places; never "none" */
	struct idset cpus;
};

struct ledger_step {
	uint64_t inode; /* of the step's cgroup directory */
	uint32_t step_id;
	unsigned ranks; /* on this node */
	char cgroup[CGROUP_PATH_MAX];
	/* where its ranks are, "sim,vda": containers, "none", LEDGER_REST; NULL: nowhere yet, see
	 * ledger_step_places() */
	char *places;
	struct idset cpus; /* that its ranks are bound to, when they divide the container */
	/* its ranks in a container, or in what these leave, after ledger_step_load_ranks();
	 * of a step that launches, none yet */
	unsigned n_placed;
	struct ledger_rank *placed;
	/* the same as the entry has it, until it is loaded: lines "rank ...", and rank_runs.h's
	 * form */
	char *rank_lines, *rank_runs;
	/* its ranks are on their way: they have no CPUs of their own yet, or Slurm may be binding
	 * them */
	bool launching;
	enum partition partition; /* of its directory "user", see container/fence.h */
	struct idset fence; /* the CPUs of this partition */
	char *request; /* of a step container; NULL: the job's */
	struct job_plan *plan; /* of a step container; NULL: the job's */
	char *unknown; /* lines that a later release has written; NULL: none */
};

struct ledger_job {
	uint64_t inode;
	uint32_t job_id;
	uid_t uid;
	char cgroup[CGROUP_PATH_MAX];
	char *request; /* the job plan's; NULL: no job plan */
	struct job_plan *plan;
	/* memory nodes of its ranks that are in no container with its own; empty: not chosen, or
	 * all */
	struct idset share;
	/* of them that the job's memory needs; other jobs' ranks of this kind may have the rest */
	uint64_t share_bytes;
	char *unknown; /* lines of the job itself that a later release has written; NULL: none */
	bool light; /* read without its ranks: not to be written back */
	unsigned n_steps;
	struct ledger_step *step;
};

struct ledger; /* an open and locked state directory */

/* Which entries are asked for. */
struct ledger_whose {
	uid_t uid; /* (uid_t)-1: anybody's */
	unsigned long job; /* number; 0: any */
};

/*
 * Open STATE_DIR (made when missing), lock it and sweep what no longer lives below
 * CGROUP_FD. Waits at most TIMEOUT seconds for the lock. Hold it briefly.
 */
int ledger_open(struct ledger **out, const char *state_dir, int cgroup_fd, unsigned timeout,
		struct errbuf *err);
void ledger_close(struct ledger *l);

/* The state directory, for what goes with the entries; not to be closed. */
int ledger_dir(const struct ledger *l);

/*
 * The entry of that job without the lock, as it was a moment ago: *OUT NULL when there is none. For
 * what does not change while the job lives.
 */
int ledger_peek(const char *state_dir, uint64_t inode, struct ledger_job **out, struct errbuf *err);

/* Where a ledger is, for a look without opening it. */
struct ledger_at {
	const char *state_dir;
	int cgroup_fd; /* its entries' directories are below this one */
};

/*
 * Call FN as ledger_each() does, without the lock, with the entries as each was a moment ago: those
 * that ledger_each_of() would take and that live below AT's CGROUP_FD, with their steps that live.
 * For what users may ask as often as they like: no launch waits for it.
 */
int ledger_look(const struct ledger_at *at, const struct ledger_whose *whose,
		int (*fn)(const struct ledger_job *job, void *arg), void *arg, struct errbuf *bad,
		struct errbuf *err);

/* The job with this inode: *OUT NULL when it has no entry. Free with ledger_job_free. */
int ledger_read(struct ledger *l, uint64_t inode, struct ledger_job **out, struct errbuf *err);

/* errbuf.code of this file's errors; the planner's codes pass through this room and are lower. */
enum ledger_refusal {
	LEDGER_OK, /* none, or an error of another kind */
	LEDGER_BOUND = PLAN_REFUSALS, /* the entry would be beyond a bound */
};

/*
 * Replace or make the entry of JOB. -1 with the reason, the entry as it was: JOB is light, the file
 * cannot be written, or (LEDGER_BOUND) it would be longer than it is and beyond a bound:
 * LEDGER_STEPS_MAX steps or LEDGER_ENTRY_MAX bytes of a job, LEDGER_USER_MAX bytes of its user's
 * jobs on this node.
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
 * The same for the entries of WHOSE alone, with the text of their ranks; of others' entries only
 * the first lines are read.
 */
int ledger_each_of(struct ledger *l, const struct ledger_whose *whose,
		   int (*fn)(const struct ledger_job *job, void *arg), void *arg,
		   struct errbuf *bad, struct errbuf *err);

/* Where the entry of that job is, for a look without the lock. */
void ledger_entry_path(char *buf, size_t size, const char *state_dir, uint64_t inode);

/* ------------------------------------------------------------------ ledger_job.c */

/* A job without steps, for ledger_job_free(); NULL: out of memory. */
struct ledger_job *ledger_job_new(const struct cgroup_place *place, uint32_t job_id, uid_t uid);
void ledger_job_free(struct ledger_job *job); /* NULL is fine */

/* Is there nothing left to keep of JOB: no plan, no step, no share, no line of a later release? */
bool ledger_job_is_empty(const struct ledger_job *job);

/* The step of that inode, NULL: none; a new last one, NULL: out of memory. Both are JOB's, and
 * where they are changes when a step comes or goes. */
struct ledger_step *ledger_job_step(struct ledger_job *job, uint64_t step_inode);
struct ledger_step *ledger_job_add_step(struct ledger_job *job);
void ledger_job_del_step(struct ledger_job *job, uint64_t step_inode);

/* Append a rank to those placed of S; NULL when out of memory. */
struct ledger_rank *ledger_step_add_rank(struct ledger_step *s);
void ledger_step_clear_ranks(struct ledger_step *s); /* loaded or not */

/* The places of S, "" for none. */
const char *ledger_step_places(const struct ledger_step *s);
/* Note that ranks of S are in PLACE, or (set) in PLACES and nowhere else; -1: out of memory. Is any
 * in PLACE? */
int ledger_step_add(struct ledger_step *s, const char *place);
int ledger_step_set_places(struct ledger_step *s, const char *places);
bool ledger_step_in(const struct ledger_step *s, const char *place);
/* Is any in PLACE of the job plan? A step with containers of its own has none there. */
bool ledger_step_in_job_plan(const struct ledger_step *s, const char *place);

/* ----------------------------------------------------------------- ledger_ranks.c */

/* Make S->placed of what was read; nothing to do is fine. -1 with the reason: the text is damaged,
 * and stays as it is. */
int ledger_step_load_ranks(struct ledger_step *s, struct errbuf *err);

/* Take those out whose directory below CGROUP_FD is gone. */
void ledger_step_drop_ended(struct ledger_step *s, int cgroup_fd);

/* ----------------------------------------------------------------- ledger_text.c */

/* Has the entry of JOB lines that this release does not know? WHY then names one. They stay in it,
 * whatever is written. */
bool ledger_job_of_later_release(const struct ledger_job *job, struct errbuf *why);

#endif
