/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LAUNCH_STEP_H
#define NODEOS_LAUNCH_STEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "container/step_id.h"

/*
 * One step on this node, from slurmstepd's and its ranks' side. The order of calls:
 *
 *   step_new      slurmstepd, before the ranks are forked
 *   step_place    slurmstepd as root, once per rank, in order, before any rank goes on:
 *                 the first call plans, the last one makes the rank map
 *   step_show     every rank, as root
 *   step_enter    every rank, as the user, last thing before exec
 *   step_end      slurmstepd as root, when the step is over
 *
 * What fails is remembered and told by step_enter, because a failure at any
 * earlier place of a batch step would drain the node.
 */
struct step;

#define STEP_JOB_NAME_MAX 256

/* What slurmctld knows of a job and nodes do not. */
struct step_job {
	char account[STEP_JOB_NAME_MAX];
	char partition[STEP_JOB_NAME_MAX];
};

/* Texts come from the job's environment and options: hostile until checked here. */
struct step_input {
	uint32_t job_id;
	uint32_t step_id;
	/* slurmstepd itself: with contain_spank its later hooks run in processes that it clones */
	pid_t stepd;
	uid_t uid;
	gid_t gid;
	/* supplementary ones, n_groups of them, which live as long as the step; 0: not told */
	const gid_t *group;
	int n_groups;
	unsigned n_ranks; /* on this node */
	unsigned total_ranks; /* of the whole step; 0: not known */
	const uint32_t *global_rank; /* n_ranks of them, by local rank */
	unsigned cpus_per_task;
	bool overcommit;
	bool by_thread; /* --cpu-bind=threads */
	bool unbound; /* --cpu-bind=none: ranks of one container share it */
	unsigned threads_per_core; /* --hint=nomultithread, --threads-per-core; 0: all */
	bool launching; /* step_launch_begin said so */
	uint64_t job_memory; /* bytes that Slurm gave the job on this node; 0: not known */
	bool planned; /* step_job_is_planned said so */
	bool request_expected; /* an option that makes a request came along */
	const char *job_request; /* NULL: none in the environment */
	const char *step_request; /* a step container's; NULL: none */
	const char *container; /* --nodeos-container; NULL: not given */
	const char *report; /* --nodeos-report; NULL: not given */
	/* the job script, whose #NODEOS lines are the job's manifest; NULL: no such lines */
	const char *script;
	const char *conf_path;
	/*
	 * Asks slurmctld for job JOB_ID of user UID, within a bounded time; -1 with the reason in
	 * ERR. Called only where the configuration depends on it. NULL: cannot be asked.
	 */
	int (*load_job)(struct step_job *out, uint32_t job_id, uid_t uid, struct errbuf *err);
	const char *helper_path; /* the planning helper */
	const char *script_path; /* nodeos-script, which reads SCRIPT */
	/*
	 * Log of decisions, a line each: log_info with debug=yes in nodeos.conf, else log_debug.
	 * NULL: none. A line may be long and hold bytes of the user's: they see to that.
	 */
	void (*log_debug)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	void (*log_info)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

/* Copies what IN points to, but for groups. */
int step_new(struct step **out, const struct step_input *in, struct errbuf *err);

/* Remember the first failure of this step on this node; step_enter tells it. */
void step_fail(struct step *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Put rank RANK (local number), process PID, into its container. Failures are remembered. */
void step_place(struct step *s, unsigned rank, pid_t pid);

/*
 * In the rank, still as root, in the mount namespace that it will run in: let what its container
 * has mounted be there. Slurm lets ranks come here while slurmstepd is still in step_place of the
 * first; where there may be such a mount they wait for that. Failures are remembered: that
 * slurmstepd has ended meanwhile is one.
 */
void step_show(struct step *s, unsigned rank);

/* What a rank needs from its launcher to change the environment it will exec with. */
struct step_env {
	void *arg;
	/* NULL: not set; valid until the next get */
	const char *(*get)(void *arg, const char *name);
	void (*set)(void *arg, const char *name, const char *value);
	void (*unset)(void *arg, const char *name);
};

/*
 * In the rank: bind, set memory policy and environment, note what the kernel
 * shows. Returns -1 when this step failed on this node: then ERR holds the
 * message in the one rank that is to print it, and "" in the others. A text in
 * ERR with 0 is a warning to print.
 */
int step_enter(struct step *s, unsigned rank, const struct step_env *env, struct errbuf *err);

/*
 * As root in slurmstepd: does the ledger hold a job plan for the job that this
 * process belongs to? Any trouble is "no". *FENCES: may containers be partitions at this site?
 */
bool step_job_is_planned(const char *conf_path, bool *fences);

/*
 * Has every step of this node its memory nodes from us, those without containers, too? So on a
 * kernel that has divided them, unless the site says otherwise. A faulty configuration is a "no"
 * and a text in ERR.
 */
bool step_keeps_memory(const char *conf_path, struct errbuf *err);

/*
 * As root in slurmstepd, once, when the first rank of a step without containers is forked: keep the
 * whole step's memory off the containers'. A failure is for the node's log, never for the step.
 */
int step_keep_memory(const char *conf_path, uint32_t job_id, uid_t uid, uint64_t job_memory,
		     struct errbuf *err);

/*
 * The same for sessions by ssh (pam_slurm_adopt), which the extern step of a job holds: they have
 * the memory of homes. As root in that step's slurmstepd, before a session can be adopted; a
 * session that is there already is left alone, which is a failure. Failures are for the node's log.
 */
int step_keep_extern(const char *conf_path, struct errbuf *err);

/*
 * As root in slurmstepd, before Slurm binds ranks: a step is being launched here, in a job that has
 * partitions or could come to have them. Returns 1 when step_launch_end has to follow (step_place
 * does that of the last rank), then also with an ERR that is worth a line in the log; 0 when there
 * is nothing to do; -1 with the reason.
 */
int step_launch_begin(const char *conf_path, uint32_t job_id, uid_t uid, uint32_t step_id,
		      struct errbuf *err);

/*
 * All ranks are bound: make the job's partitions, when its other steps are through with their
 * launch, too. Returns 0, with 0, a text in ERR is for the log; or 1 when this step's own has to
 * wait for them longer than helper_timeout, or -1 when it cannot be.
 */
int step_launch_end(const char *conf_path, struct errbuf *err);

/* What the administrator should know of the placement, once; "": nothing. */
const char *step_warning(struct step *s);

/* What the user should know of where the step runs, once; "": nothing. */
const char *step_note(struct step *s);

/*
 * After a rank's end: has the step failed here, by a reason of ours, while ranks of it may run,
 * here or on others of its NODES?
 */
bool step_ends_others(const struct step *s, unsigned nodes);

/* Take this step out of the ledger. */
void step_end(struct step *s);

/*
 * Take what job JOB_ID left in the ledger of this node (job epilog). Nothing to do is fine. Where
 * several slurmds share a host, what the job has on the others' nodes stays.
 */
void step_job_end(const char *conf_path, uint32_t job_id, struct errbuf *err);

/* Remove from the environment what an outer step's rank had and this one must not inherit. */
void step_clean_env(const struct step_env *env);

#endif
