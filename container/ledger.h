/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_LEDGER_H
#define NODEOS_CONTAINER_LEDGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/cgroup.h"
#include "host/partition.h"
#include "jobplan/job_plan.h"

/*
 * The ledger records which job has which CPUs and memory nodes of this node. It has one text file,
 * an entry, for each job in STATE_DIR (root's, mode 0700, on a tmpfs so that a boot empties it).
 * The name of an entry has the inode of the job's cgroup directory, because job ids are used again,
 * such as after a requeue. An entry lives as long as that directory; ledger_open() removes all
 * others. Values that the kernel shows (effective CPUs, pids) are not in the ledger.
 */
#define LEDGER_REST "-" /* the rest outside of all containers */
#define LEDGER_PLACES_MAX ((REQUEST_CONTAINERS_MAX + 2) * REQUEST_NAME_MAX)

#define LEDGER_TASK_MAX 24

/*
 * Every launch on the node reads all entries, so one user's entries have limits: steps of a job,
 * bytes of a job, and bytes of all jobs of the user. Entries of up to LEDGER_FREE_MAX bytes have
 * none of these limits, so that a step without containers is never refused.
 */
#define LEDGER_STEPS_MAX 1024u
#define LEDGER_ENTRY_MAX (1u << 20)
#define LEDGER_USER_MAX (4u << 20)
#define LEDGER_FREE_MAX (16u << 10)

/*
 * A placed rank and its CPUs. The CPUs are kept here because the binding that the kernel shows
 * changes when the rank's threads bind themselves.
 */
struct ledger_rank {
	char task[LEDGER_TASK_MAX]; /* directory below the step's "user": "task_0" */
	char place[REQUEST_NAME_MAX]; /* a container's name or LEDGER_REST */
	struct idset cpus;
};

struct ledger_step {
	uint64_t inode; /* inode of the step's cgroup directory */
	uint32_t step_id;
	unsigned ranks; /* number of ranks on this node */
	char cgroup[CGROUP_PATH_MAX];
	/*
	 * places of its ranks, such as "sim,vda": containers, "none", LEDGER_REST; NULL: no place
	 * so far (ledger_step_places())
	 */
	char *places;
	struct idset cpus; /* CPUs of its ranks, if the ranks divide the container's CPUs */
	/* ranks in PLACED, valid after ledger_step_load_ranks(); 0 while the step launches */
	unsigned n_placed;
	struct ledger_rank *placed;
	/* the text of ranks that are not loaded: lines "rank ...", and runs (rank_runs.h) */
	char *rank_lines, *rank_runs;
	/* the ranks have no CPUs of their own yet, or Slurm may still bind them */
	bool launching;
	enum partition partition; /* partition of the step's directory "user", see partitions.h */
	struct idset partition_cpus; /* CPUs of this partition */
	char *request; /* request of a step container; NULL: the step uses the job's request */
	struct job_plan *plan; /* plan of a step container; NULL: the step uses the job's plan */
	char *unknown; /* lines that this release does not know; NULL: none */
};

struct ledger_job {
	uint64_t inode;
	uint32_t job_id;
	uid_t uid;
	char cgroup[CGROUP_PATH_MAX];
	char *request; /* request of the job plan; NULL: no job plan */
	struct job_plan *plan;
	/* memory nodes for ranks outside of confined containers; empty: not chosen, or all */
	struct idset share;
	/* the bytes of SHARE that the job needs; ranks of other jobs may use the other bytes */
	uint64_t share_bytes;
	char *devils; /* step containers that had ranks of class devil, "a,b"; NULL: none */
	/* lines about the job, not its steps, that this release does not know; NULL: none */
	char *unknown;
	bool light; /* true: read without ranks, so that ledger_write() refuses this job */
	unsigned n_steps;
	struct ledger_step *step;
};

struct ledger; /* an open and locked state directory */

/* Selects the entries to read. */
struct ledger_whose {
	uid_t uid; /* the owner; (uid_t)-1: every user */
	unsigned long job; /* number of the job; 0: every job */
};

/*
 * Open STATE_DIR (create it if missing), lock it, and remove the entries of jobs and steps that no
 * longer live below CGROUP_FD. Waits at most TIMEOUT seconds for the lock. Close the ledger soon:
 * other launches wait for it.
 */
int ledger_open(struct ledger **out, const char *state_dir, int cgroup_fd, unsigned timeout,
		struct errbuf *err);
void ledger_close(struct ledger *l);

/* Return the ledger's descriptor of the state directory, for files beside the entries. */
int ledger_dir(const struct ledger *l);

/*
 * Read the entry of the job with this inode without the lock, while another process may replace the
 * entry. *OUT is NULL if there is none. Use this only for values that do not change while the job
 * lives.
 */
int ledger_peek(const char *state_dir, uint64_t inode, struct ledger_job **out, struct errbuf *err);

/* A ledger that is read without the lock. */
struct ledger_at {
	const char *state_dir;
	int cgroup_fd; /* read only entries whose directories are below this one */
};

/*
 * As ledger_each_of(), but without the lock, only for jobs that live below AT's CGROUP_FD, and with
 * live steps only. Other processes may replace entries meanwhile. No launch waits for this
 * function, so it serves frequent queries by users.
 */
int ledger_read_unlocked(const struct ledger_at *at, const struct ledger_whose *whose,
			 int (*fn)(const struct ledger_job *job, void *arg), void *arg,
			 struct errbuf *bad, struct errbuf *err);

/* Read the entry of the job with INODE, for ledger_job_free(); *OUT is NULL if there is none. */
int ledger_read(struct ledger *l, uint64_t inode, struct ledger_job **out, struct errbuf *err);

/*
 * Values of errbuf.code for errors of this file. They begin above the planner's codes, which
 * functions of this room pass on.
 */
enum ledger_refusal {
	LEDGER_OK, /* no error, or an error without a code */
	LEDGER_BOUND = PLAN_REFUSALS, /* the entry would exceed a limit */
};

/*
 * Write the entry of JOB, new or in place of the old one. Returns 0; or -1 with the reason, and the
 * old entry is unchanged. It fails if JOB is light, if the file cannot be written, or if the entry
 * would grow beyond a limit (code LEDGER_BOUND): LEDGER_STEPS_MAX steps or LEDGER_ENTRY_MAX bytes
 * of a job, LEDGER_USER_MAX bytes of its user's jobs on this node.
 */
int ledger_write(struct ledger *l, const struct ledger_job *job, struct errbuf *err);
int ledger_remove(struct ledger *l, uint64_t inode, struct errbuf *err);

/*
 * Call FN for every readable entry, read without ranks (light). BAD gets the problem of an
 * unreadable entry. Memory nodes that unreadable entries and unknown lines mention count as taken,
 * and are added to UNREAD unless UNREAD is NULL. FN returns -1 if it fails, 0, or 1 if it has taken
 * over all that JOB owns (but not *JOB).
 */
int ledger_each(struct ledger *l, int (*fn)(const struct ledger_job *job, void *arg), void *arg,
		struct idset *unread, struct errbuf *bad, struct errbuf *err);

/*
 * As ledger_each(), but only for the entries that WHOSE selects, and with the text of their ranks.
 * Only the first lines of other entries are read.
 */
int ledger_each_of(struct ledger *l, const struct ledger_whose *whose,
		   int (*fn)(const struct ledger_job *job, void *arg), void *arg,
		   struct errbuf *bad, struct errbuf *err);

/* Write the path of the entry of the job with this inode to BUF, for access without the lock. */
void ledger_entry_path(char *buf, size_t size, const char *state_dir, uint64_t inode);

/* ------------------------------------------------------------------ ledger_job.c */

/* Return a job without steps, to be freed by ledger_job_free(), or NULL when out of memory. */
struct ledger_job *ledger_job_new(const struct cgroup_place *place, uint32_t job_id, uid_t uid);
void ledger_job_free(struct ledger_job *job); /* NULL does nothing */

/* Return whether JOB's entry may be removed: it has no plan, step, share, devil or unknown line. */
bool ledger_job_is_empty(const struct ledger_job *job);

/*
 * Record that the step container NAME has had ranks of class devil, so that later steps of the job
 * plan it apart from other such containers. Returns 1; 0 if NAME or REQUEST_CONTAINERS_MAX names
 * are noted already; -1 if out of memory.
 */
int ledger_job_note_devil(struct ledger_job *job, const char *name);
bool ledger_job_had_devil(const struct ledger_job *job, const char *name);

/*
 * ledger_job_step() returns the step with this inode, or NULL. ledger_job_add_step() appends a step
 * and returns it, or NULL if out of memory. JOB owns its steps; adding or deleting a step moves the
 * others in memory.
 */
struct ledger_step *ledger_job_step(struct ledger_job *job, uint64_t step_inode);
struct ledger_step *ledger_job_add_step(struct ledger_job *job);
void ledger_job_del_step(struct ledger_job *job, uint64_t step_inode);

/* Append a rank to S->placed. Returns it, or NULL when out of memory. */
struct ledger_rank *ledger_step_add_rank(struct ledger_step *s);
void ledger_step_clear_ranks(struct ledger_step *s); /* also removes ranks that are not loaded */

/* Return the places of S, "" for none. */
const char *ledger_step_places(const struct ledger_step *s);
/*
 * ledger_step_add() adds PLACE to the places of S; ledger_step_set_places() replaces them by
 * PLACES. Both return -1 if out of memory. ledger_step_in() returns whether ranks of S are in
 * PLACE.
 */
int ledger_step_add(struct ledger_step *s, const char *place);
int ledger_step_set_places(struct ledger_step *s, const char *places);
bool ledger_step_in(const struct ledger_step *s, const char *place);
/*
 * Return whether ranks of S are in container PLACE of the job plan; false for a step with
 * containers of its own.
 */
bool ledger_step_in_job_plan(const struct ledger_step *s, const char *place);

/* ----------------------------------------------------------------- ledger_ranks.c */

/*
 * Fill S->placed from the text of the entry, unless it is already filled. Returns -1 with the
 * reason if the text is damaged; the text then stays unchanged.
 */
int ledger_step_load_ranks(struct ledger_step *s, struct errbuf *err);

/* Remove the ranks whose directory below CGROUP_FD is gone. */
void ledger_step_drop_ended(struct ledger_step *s, int cgroup_fd);

/* ----------------------------------------------------------------- ledger_text.c */

/*
 * Return whether the entry of JOB has lines that this release does not know. If so, WHY quotes one
 * of them. Every write keeps these lines.
 */
bool ledger_job_of_later_release(const struct ledger_job *job, struct errbuf *why);

#endif
