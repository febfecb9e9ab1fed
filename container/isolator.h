/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_ISOLATOR_H
#define NODEOS_CONTAINER_ISOLATOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "base/json_out.h"
#include "container/job_plan.h"
#include "container/ledger.h"
#include "container/outcome.h"
#include "host/blocks.h"
#include "host/buffer_file.h"
#include "host/conf.h"
#include "manifest/isolator_name.h"
#include "manifest/request.h"

/*
 * The isolators: what a container keeps for itself. Each is one file, isolator_NAME.c, with one
 * row of hooks; launch, reports and resize walk all rows, in the order of ISOLATORS
 * (manifest/isolator_name.h), and know none of them by name. A new isolator needs its keys in the
 * tables of manifest/, a line in ISOLATORS, and its file. What isolators of RANK_NUMBERS have in
 * common is in isolator_number.c.
 */

/*
 * What the ranks of one step get that go to one place: a container, or what the containers leave.
 * Plain data without pointers: the step's processes share it, from before they are forked.
 */
struct given {
	struct idset cpus;
	bool sized; /* the request says how many CPUs */
	struct idset mems;
	bool bind_mems;
	/* mems are its container's alone: its memory is bounded by what they hold */
	bool own_blocks;
	enum sched_policy policy; /* POLICY_UNSET: leave it as it is */
	unsigned priority;
	unsigned quantum; /* milliseconds, of POLICY_HPC */
	bool quantum_named; /* by the request */
	enum partition partition; /* that the step is to be */
	struct idset fence; /* its CPUs, with idle threads */
	/* why the container is no partition for this step; "": it is, or need not be */
	char unfenced[200];
	char buffer[BUFFER_PATH_MAX]; /* where the container's buffer is mounted; "": none */
	struct buffer_maker maker; /* of it */
	struct rank_value number[RANK_NUMBER_COUNT];
};

/* One place of a step, on root's side. */
struct isolator_part {
	struct given *given;
	/* the container's request and plan, while the step is prepared; NULL: what they leave */
	const struct requested_container *ask;
	const struct planned_container *plan;
	unsigned index; /* of the container in its request */
	const char *name; /* the container's, "" for what they leave */
	bool outside; /* ranks that asked to be in no container */
};

/* What is known of the node and the job before anything is planned. */
struct isolator_node {
	const struct conf *conf;
	const char *conf_path;
	enum guarantee guarantee; /* of memory */
	uint64_t job_memory; /* bytes that Slurm gave the job here; 0: not known */
};

/*
 * Containers that are to be planned, or have a plan; the ledger is open. The pointers are the
 * caller's.
 */
struct isolator_planning {
	const struct conf *conf;
	const char *conf_path;
	const struct request *request;
	struct ledger *ledger;
	const struct ledger_job *job; /* NULL: it has no entry yet */
	uint64_t step_inode;
	const struct idset *node_cpus, *job_cpus;
	struct idset cpus; /* that the planner may give */
	const char *kept; /* why these are fewer than there are; NULL: they are not */
	bool offered; /* the plan is made now; else it was before, and CPUS is not known */
	/* what live containers leave to the system, and whether any of them has SCHED_HPC */
	struct idset outside;
	bool any_hpc;
};

/* A step on this node, on root's side. Everything is the caller's. */
struct isolator_step {
	const struct conf *conf;
	const char *conf_path;
	const struct blocks *blocks;
	int cgroup_fd;
	const char *user; /* the step's directory "user", below the cgroup mount */
	const struct idset *step_cpus; /* as Slurm gave them */
	uint32_t step_id;
	uint64_t inode; /* of the step's directory */
	const char *job_cgroup;
	uint64_t job_inode;
	const struct idset *job_cpus;
	bool own_mems; /* the ServiceOS has memory nodes of its own */
	bool own_container; /* made for this step alone */
	/* the directory that its containers live as long as: the job's, or its own */
	const char *owner;
	uint64_t owner_inode;
	uid_t uid;
	gid_t gid;
	const gid_t *group; /* n_groups of them */
	int n_groups;
	unsigned n;
	struct isolator_part *part; /* n of them */
};

/* A rank that looks at itself, with its user's rights, last thing before exec. */
struct isolator_rank {
	unsigned number; /* in the whole step */
	const char *container; /* "": what the containers leave */
	const struct idset *chosen; /* CPUs of its own */
	bool shares_all; /* nothing was left: it is where all containers are */
	/* of its environment, NULL: not set; valid until the next call */
	const char *(*get)(void *arg, const char *name);
	void *arg;
	/* what the kernel shows, for verify and value */
	const struct idset *kernel_cpus, *kernel_mems;
	int kernel_policy;
};

/* A container as a report or a dry run judges it. */
struct judged {
	const struct requested_container *ask;
	const struct planned_container *got;
	const struct conf *conf;
	struct outcome_node node;
	/* where its buffer would be; NULL: it has none, or none is to be looked at */
	const char *buffer;
};

/* A live container that is to become another; the ledger is open. */
struct isolator_change {
	const struct conf *conf;
	const struct blocks *blocks;
	int cgroup_fd;
	struct ledger *ledger;
	const struct ledger_job *job;
	const struct requested_container *ask;
	const struct planned_container *before, *next;
	const struct idset *node_cpus, *job_cpus;
};

struct isolator {
	/* that tells a rank what it has, NULL: none */
	const char *variable;

	/* May the site's users ask for this? At submit, with their rights, and on the node. */
	int (*allowed)(const struct requested_container *ask, const struct conf *conf,
		       const char *conf_path, struct errbuf *err);
	/* Can this node do what R asks for, whatever else it has? Before anything is planned. */
	int (*possible)(const struct request *r, const struct isolator_node *n, struct errbuf *err);
	/* May no other job have CPUs of this container's job? OF_SRUN: its step is one of srun. */
	bool (*alone)(const struct requested_container *ask, const struct conf *conf, bool of_srun);
	/* Before containers are planned: take from P's CPUs what they may not have, and say why. */
	int (*offer)(struct isolator_planning *p, struct errbuf *err);
	/* Can the containers of PLAN be, beside each other and what is live? */
	int (*planned)(const struct isolator_planning *p, const struct job_plan *plan,
		       struct errbuf *err);
	/* Fill what P is given, of its request and plan. The ledger is open. */
	int (*give)(const struct isolator_step *s, struct isolator_part *p, struct errbuf *err);
	/* Can P be, beside what is live in JOB and on the node? The ledger is open. */
	int (*accept)(const struct isolator_step *s, struct isolator_part *p,
		      const struct ledger_job *job, struct errbuf *err);
	/* As root, once, before the first rank is placed: all parts of the step. */
	int (*step)(const struct isolator_step *s, struct errbuf *err);
	/* As root, each rank: process PID in directory TASK, before it goes on. */
	int (*rank)(const struct isolator_step *s, const struct isolator_part *p, pid_t pid,
		    const char *task, struct errbuf *err);
	/*
	 * In the rank, still as root, in the mount namespace that it will run in. A rank of a step
	 * whose request wants an isolator with this hook waits until the step is prepared.
	 */
	int (*show)(const struct given *g, const char *name, struct errbuf *err);
	/* In the rank. */
	int (*enter)(const struct given *g, const struct isolator_rank *r, struct errbuf *err);
	/* In the rank, after that: has the kernel what was planned? */
	int (*verify)(const struct given *g, const struct isolator_rank *r, struct errbuf *err);
	/* The text of VARIABLE, or "" to leave it out. */
	void (*value)(const struct given *g, const struct isolator_rank *r, char *buf, size_t size);

	/* What became of it, for dry run, launch and report. */
	void (*outcome)(struct outcomes *o, const struct judged *j);
	/* Members of "asked", and of the container itself. */
	void (*asked)(struct json_out *j, const struct requested_container *ask);
	void (*report)(struct json_out *j, const struct judged *c);
	/* The same in the line of a text that names the container, and in lines below it. */
	void (*text)(FILE *f, const struct judged *c);
	void (*detail)(FILE *f, const struct judged *c);

	/* May the live container become what CHANGE says? */
	int (*resize)(const struct isolator_change *change, struct errbuf *err);
	/*
	 * S ends, or has ended: take back what the entry says that it has; the ledger is open and
	 * the entry still there. Adds to GONE the CPUs that nobody else may have had. Once more is
	 * harmless.
	 */
	void (*drop)(int cgroup_fd, const struct ledger_step *s, struct idset *gone);
	/*
	 * The job or step whose directory had INODE has ended, or (INDEX not -1) the container of
	 * its request with this number. May wait for devices: no lock is held. Once more is
	 * harmless.
	 */
	void (*release)(const char *state_dir, uint64_t inode, int index);
};

#define ISOLATOR_ROW(id, name) extern const struct isolator isolator_##name;
ISOLATORS(ISOLATOR_ROW)
#undef ISOLATOR_ROW
extern const struct isolator isolator_number; /* all of RANK_NUMBERS together */

/* Each calls the hook of that name of all isolators in their order, up to the first that fails. */

/* Is container ASK allowed by the site? At submit for the message, on the node for the truth. */
int isolators_allowed(const struct requested_container *ask, const struct conf *conf,
		      const char *conf_path, struct errbuf *err);
/*
 * May the job of USER have every isolator that R asks for (allow_NAME in the file CONF_PATH)? Each
 * is asked for once, as the user database may answer late. Returns 0, or -1 with the first
 * container that has it, the isolator and the key in ERR.
 */
int isolators_user_may(const struct request *r, const struct conf *conf,
		       const struct conf_user *user, const char *conf_path, struct errbuf *err);
int isolators_possible(const struct request *r, const struct isolator_node *n, struct errbuf *err);
bool isolators_alone(const struct request *r, const struct conf *conf, bool of_srun);
/* Sets OFFERED, too. */
int isolators_offer(struct isolator_planning *p, struct errbuf *err);
int isolators_planned(const struct isolator_planning *p, const struct job_plan *plan,
		      struct errbuf *err);
int isolators_give(const struct isolator_step *s, struct isolator_part *p, struct errbuf *err);
int isolators_accept(const struct isolator_step *s, struct isolator_part *p,
		     const struct ledger_job *job, struct errbuf *err);
int isolators_step(const struct isolator_step *s, struct errbuf *err);
int isolators_rank(const struct isolator_step *s, const struct isolator_part *p, pid_t pid,
		   const char *task, struct errbuf *err);
/* Does R want any with a hook of this kind? */
bool isolators_shown(const struct request *r);
int isolators_show(const struct given *g, const char *name, struct errbuf *err);
int isolators_enter(const struct given *g, const struct isolator_rank *r, struct errbuf *err);
int isolators_verify(const struct given *g, const struct isolator_rank *r, struct errbuf *err);

/* Call FN with each variable of a rank and its value; G NULL: "" for all of them. */
void isolators_values(const struct given *g, const struct isolator_rank *r,
		      void (*fn)(const char *name, const char *value, void *arg), void *arg);

/* Fill OUT[OUTCOMES_MAX] with what became of J's isolators, ignored ones included; how many. */
unsigned isolators_outcome(struct isolator_outcome *out, const struct judged *j);
void isolators_asked(struct json_out *j, const struct requested_container *ask);
void isolators_report(struct json_out *j, const struct judged *c);
void isolators_text(FILE *f, const struct judged *c);
void isolators_detail(FILE *f, const struct judged *c);

int isolators_resize(const struct isolator_change *change, struct errbuf *err);
void isolators_drop(int cgroup_fd, const struct ledger_step *s, struct idset *gone);
void isolators_release(const char *state_dir, uint64_t inode, int index);

#endif
