/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LAUNCH_STEP_H
#define NODEOS_LAUNCH_STEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "container/step_id.h"
#include "manifest/contention_name.h"

/*
 * One step on this node, as slurmstepd and its ranks run it. The order of calls:
 *
 *   step_new      slurmstepd, before the ranks are forked
 *   step_place    slurmstepd as root, once for each rank, in order, before any rank continues:
 *                 the first call plans, the last one makes the rank map
 *   step_show     every rank, as root
 *   step_enter    every rank, as the user, last before exec
 *   step_end      slurmstepd as root, at the end of the step
 *
 * A failure is kept, and step_enter() reports it: if an earlier hook of a batch step failed, Slurm
 * would drain the node.
 */
struct step;

#define STEP_JOB_NAME_MAX 256

/* Facts of a job that slurmctld has and nodes do not. */
struct step_job {
	char account[STEP_JOB_NAME_MAX];
	char partition[STEP_JOB_NAME_MAX];
};

/*
 * The texts come from the job's environment and options: they are not trusted until checked here.
 */
struct step_input {
	uint32_t job_id;
	uint32_t step_id;
	/* pid of slurmstepd itself: with contain_spank, its later hooks run in clones */
	pid_t stepd;
	uid_t uid;
	gid_t gid;
	/* supplementary groups of the user, valid as long as the step; N_GROUPS 0: unknown */
	const gid_t *group;
	int n_groups;
	unsigned n_ranks; /* number of ranks on this node */
	unsigned total_ranks; /* number of ranks of the whole step; 0: unknown */
	const uint32_t *global_rank; /* N_RANKS numbers, by local rank */
	unsigned cpus_per_task;
	bool overcommit;
	bool by_thread; /* --cpu-bind=threads */
	bool unbound; /* --cpu-bind=none: the ranks of a container share its CPUs */
	unsigned threads_per_core; /* --hint=nomultithread, --threads-per-core; 0: all */
	bool launching; /* step_launch_begin() has returned 1 */
	uint64_t job_memory; /* bytes that Slurm gave the job on this node; 0: unknown */
	bool planned; /* step_job_is_planned() has returned true */
	bool request_expected; /* the step has an option that makes a request */
	const char *job_request; /* NULL: none in the environment */
	const char *step_request; /* request of a step container; NULL: none */
	const char *container; /* --nodeos-container; NULL: not given */
	const char *report; /* --nodeos-report; NULL: not given */
	enum contention_policy contention; /* --nodeos-contention; UNSET: not given */
	/* the job script, if it has #NODEOS lines (the job's manifest); NULL: it has none */
	const char *script;
	const char *conf_path;
	/*
	 * Load job JOB_ID of user UID from slurmctld, within a bounded time; -1 with the reason in
	 * ERR. Called only if the configuration depends on it. NULL: not available.
	 */
	int (*load_job)(struct step_job *out, uint32_t job_id, uid_t uid, struct errbuf *err);
	const char *helper_path; /* the planning helper */
	const char *script_path; /* nodeos-script, which reads SCRIPT */
	/*
	 * Logs of decisions, one line each: log_info with debug=yes in nodeos.conf, else log_debug.
	 * NULL: none. A line may be long and contain any bytes of the user; the callee makes it
	 * safe.
	 */
	void (*log_debug)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	void (*log_info)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

/* Copies all that IN points to, except GROUP. */
int step_new(struct step **out, const struct step_input *in, struct errbuf *err);

/* Keep the first failure of this step on this node for step_enter(), which reports it. */
void step_fail(struct step *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Put rank RANK (local number), process PID, into its container. A failure is kept. */
void step_place(struct step *s, unsigned rank, pid_t pid);

/*
 * In the rank, still as root, in the mount namespace of its program: make the mounts of its
 * container visible, and do the other work of show hooks (container/isolator.h). Ranks may get here
 * while slurmstepd is still in step_place() of the first rank; if there may be such work, they wait
 * until the step is prepared. A failure is kept; if slurmstepd ends meanwhile, that is a failure,
 * too.
 */
void step_show(struct step *s, unsigned rank);

/* Does the rank's program run in a guest (nodeos-guest)? After step_show(). */
bool step_has_guest(const struct step *s, unsigned rank);

/* Does the rank begin with nodeos-lwk-start, in place of its program? Known after step_show(). */
bool step_is_inside(const struct step *s, unsigned rank);

/* Access of a rank to the environment of its exec. */
struct step_env {
	void *arg;
	/* returns NULL if not set; valid until the next call of GET */
	const char *(*get)(void *arg, const char *name);
	void (*set)(void *arg, const char *name, const char *value);
	void (*unset)(void *arg, const char *name);
};

/*
 * In the rank: bind it, set its memory policy and environment, and compare the kernel's state with
 * the plan. Returns -1 if this step has failed on this node: ERR then has the message in one rank,
 * which prints it, and "" in the others. If the return value is 0, a text in ERR is a warning to
 * print.
 */
int step_enter(struct step *s, unsigned rank, const struct step_env *env, struct errbuf *err);

/*
 * As root in slurmstepd: does the ledger have a job plan for this process's job? False after an
 * error. *PARTITIONS: may containers be partitions at this site?
 */
bool step_job_is_planned(const char *conf_path, bool *partitions);

/*
 * Does NodeOS set the memory nodes of every step here, even without containers? True on a kernel
 * that has divided memory nodes into blocks, unless nodeos.conf forbids it. If nodeos.conf is
 * invalid, returns false and a text in ERR.
 */
bool step_keeps_memory(const char *conf_path, struct errbuf *err);

/*
 * As root in slurmstepd, once, after the first rank of a step without containers is forked: keep
 * the memory of the whole step off the containers' memory nodes. Returns 0, or -1 with the reason;
 * a failure goes to the node's log and never fails the step.
 */
int step_keep_memory(const char *conf_path, uint32_t job_id, uid_t uid, uint64_t job_memory,
		     struct errbuf *err);

/*
 * As step_keep_memory(), for ssh sessions (pam_slurm_adopt) in the extern step of a job: they use
 * the memory of homes. Call it as root in the slurmstepd of that step before a session can be
 * adopted; if there is a session already, this changes nothing and fails. Failures go to the node's
 * log.
 */
int step_keep_extern(const char *conf_path, struct errbuf *err);

/*
 * As root in slurmstepd, before Slurm binds ranks: if the job has partitions or may get some,
 * record that this step launches, and make these partitions members. Returns 1 if step_launch_end()
 * must follow (step_place() of the last rank calls it), possibly with a text in ERR for the log; 0
 * if there is nothing to do; -1 with the reason.
 */
int step_launch_begin(const char *conf_path, uint32_t job_id, uid_t uid, uint32_t step_id,
		      struct errbuf *err);

/*
 * After all ranks are bound: enable the job's partitions once no step of it is launching. Returns
 * 0, possibly with a text in ERR for the log; 1 if this step's own partition has to wait longer
 * than helper_timeout; -1 if it cannot be made.
 */
int step_launch_end(const char *conf_path, struct errbuf *err);

/* Return a warning about the placement for the administrator, once; "": none. */
const char *step_warning(struct step *s);

/* Return a note about the placement for the user, once; "": none. */
const char *step_note(struct step *s);

/*
 * After the end of a rank: has NodeOS failed the step here while ranks may still run, here or on
 * another of the step's NODES nodes?
 */
bool step_ends_others(const struct step *s, unsigned nodes);

/*
 * Call this after the end of each rank. After the last one, it adds to the step's report how long
 * the ranks waited for CPUs (if a partition replaces policy hpc), and what the ranks' machines
 * (nodeos-lwk) counted.
 */
void step_rank_ended(struct step *s);

/* Remove this step from the ledger. */
void step_end(struct step *s);

/*
 * Remove this node's entry of job JOB_ID from the ledger, if there is one (job epilog). Entries of
 * other nodes on the same host (several slurmds) stay.
 */
void step_job_end(const char *conf_path, uint32_t job_id, struct errbuf *err);

/* Remove variables of an outer step's rank that this step must not inherit. */
void step_clean_env(const struct step_env *env);

#endif
