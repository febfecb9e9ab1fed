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
	/* where its ranks are, "sim,vda": containers, "none", LEDGER_REST */
	char places[LEDGER_PLACES_MAX];
	struct idset cpus; /* that its ranks are bound to, when they divide the container */
	unsigned n_placed;
	/* its ranks that are in a container, or in what these leave; of a step that launches, none
	 * yet */
	struct ledger_rank *placed;
	/* its ranks are on their way: they have no CPUs of their own yet, or Slurm may be binding
	 * them */
	bool launching;
	enum partition partition; /* of its directory "user", see container/fence.h */
	struct idset fence; /* the CPUs of this partition */
	char *request; /* of a step container; NULL: the job's */
	struct node_plan *plan; /* of a step container; NULL: the job's */
};

struct ledger_job {
	uint64_t inode;
	uint32_t job_id;
	uid_t uid;
	char cgroup[CGROUP_PATH_MAX];
	char *request; /* the job plan's; NULL: no job plan */
	struct node_plan *plan;
	/* memory nodes of its ranks that are in no container with its own; empty: not chosen, or
	 * all */
	struct idset share;
	/* of them that the job's memory needs; other jobs' ranks of this kind may have the rest */
	uint64_t share_bytes;
	unsigned n_steps;
	struct ledger_step *step;
};

struct ledger; /* an open and locked state directory */

/*
 * Open STATE_DIR (made when missing), lock it and sweep what no longer lives below
 * CGROUP_FD. Waits at most TIMEOUT seconds for the lock. Hold it briefly.
 */
int ledger_open(struct ledger **out, const char *state_dir, int cgroup_fd, unsigned timeout,
		struct errbuf *err);
void ledger_close(struct ledger *l);

/* The state directory, for what goes with the entries; not to be closed. */
int ledger_dir(const struct ledger *l);

/* Is there nothing left to keep of JOB: no plan, no step, no share? */
bool ledger_job_is_empty(const struct ledger_job *job);

/*
 * The entry of that job without the lock, as it was a moment ago: *OUT NULL when there is none. For
 * what does not change while the job lives.
 */
int ledger_peek(const char *state_dir, uint64_t inode, struct ledger_job **out, struct errbuf *err);

/*
 * Call FN as ledger_each() does, without the lock, with the entries as each was a moment ago: of
 * UID's jobs ((uid_t)-1: anybody's) with the number JOB (0: any) that live below CGROUP_FD, with
 * their steps that live. For what users may ask as often as they like: no launch waits for it, and
 * of others' entries only the first lines are read.
 */
int ledger_look(const char *state_dir, int cgroup_fd, uid_t uid, unsigned long job,
		int (*fn)(const struct ledger_job *job, void *arg), void *arg, struct errbuf *bad,
		struct errbuf *err);

/* The job with this inode: *OUT NULL when it has no entry. Free with ledger_job_free. */
int ledger_read(struct ledger *l, uint64_t inode, struct ledger_job **out, struct errbuf *err);
int ledger_write(struct ledger *l, const struct ledger_job *job, struct errbuf *err);
int ledger_remove(struct ledger *l, uint64_t inode, struct errbuf *err);

/*
 * Call FN for every readable entry; what is wrong with an unreadable one goes to BAD, and the
 * memory nodes that it names, which are somebody's all the same, are added to UNREAD unless that is
 * NULL. FN returns -1 (failed), 0, or 1: it took over what JOB holds (not *JOB itself).
 */
int ledger_each(struct ledger *l, int (*fn)(const struct ledger_job *job, void *arg), void *arg,
		struct idset *unread, struct errbuf *bad, struct errbuf *err);

/* Where the entry of that job is, for a look without the lock. */
void ledger_entry_path(char *buf, size_t size, const char *state_dir, uint64_t inode);

struct ledger_job *ledger_job_new(const struct cgroup_place *place, uint32_t job_id, uid_t uid);
void ledger_job_free(struct ledger_job *job);
struct ledger_step *ledger_job_step(struct ledger_job *job, uint64_t step_inode);
struct ledger_step *ledger_job_add_step(struct ledger_job *job);
/* Append a rank to those placed of S; NULL when out of memory. */
struct ledger_rank *ledger_step_add_rank(struct ledger_step *s);
/* Note that ranks of S are in PLACE; is any? */
void ledger_step_add(struct ledger_step *s, const char *place);
bool ledger_step_in(const struct ledger_step *s, const char *place);
void ledger_job_del_step(struct ledger_job *job, uint64_t step_inode);

#endif
