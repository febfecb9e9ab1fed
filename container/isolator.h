/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_ISOLATOR_H
#define NODEOS_CONTAINER_ISOLATOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "base/json_out.h"
#include "container/ledger.h"
#include "container/outcome.h"
#include "host/blocks.h"
#include "host/buffer_file.h"
#include "host/conf.h"
#include "hugepages/guest_given.h"
#include "hugepages/rank_counts.h"
#include "hugepages/reserve.h"
#include "jobplan/job_plan.h"
#include "manifest/isolator_name.h"
#include "manifest/request.h"

/*
 * The isolators. Each gives a container one kind of resource or setting of its own, and is one
 * file, isolator_NAME.c, with one row of hooks. Launch, reports and resize walk all rows in the
 * order of ISOLATORS (manifest/isolator_name.h) and know none of them by name. A new isolator needs
 * its keys in the tables of manifest/, a line in ISOLATORS, and its file. The common part of
 * RANK_NUMBERS is in isolator_number.c.
 */

/*
 * Settings for the ranks of one step in one place: in a container, or outside of all containers.
 * This is plain data without pointers, because the step's processes share it in memory.
 */
struct rank_settings {
	struct idset cpus;
	bool sized; /* the request gives the number of CPUs */
	struct idset mems;
	bool bind_mems;
	enum mems_policy mems_policy;
	bool spills; /* the ranks prefer MEMS, and may use other nodes of the job */
	struct idset kind_mems[MEMORY_KINDS]; /* the nodes of each kind; all empty: unknown */
	/* MEMS belong to this container alone, and their size limits its memory */
	bool own_blocks;
	enum sched_policy policy; /* POLICY_UNSET: unchanged */
	unsigned priority;
	unsigned quantum; /* milliseconds, of POLICY_HPC */
	bool quantum_named; /* the request names the quantum */
	enum partition partition; /* kind of partition that the step's directory becomes */
	bool for_hpc; /* the partition only replaces policy hpc; the step can do without it */
	struct idset partition_cpus; /* CPUs of the partition: CPUS and their idle siblings */
	/* why the container is no partition in this step; "": it is one, or none was requested */
	char no_partition[200];
	char buffer[BUFFER_PATH_MAX]; /* mount point of the container's buffer; "": none */
	struct buffer_maker maker; /* the process that made the buffer */
	struct rank_value number[RANK_NUMBER_COUNT];
	struct request_limits limits;
	bool no_io; /* the io controller could not be turned on */
	/* reasons why limits and machines are not as requested; "" if they are */
	char unlimited[200];
	struct request_lwk lwk; /* memory 0: the ranks have no machines */
	struct reserve_given extents; /* the ranks' huge pages for their machines */
	struct rank_counts counts; /* counts of their machines, in shared memory */
	struct guest_given guest;
	bool opens_kvm, ticks; /* root opens /dev/kvm for the ranks; their CPUs have ticks */
};

/* The ranks of a step in one place, as root sees them: in a container, or outside of all. */
struct isolator_part {
	struct rank_settings *given;
	/* request and plan, while the step is prepared; NULL for ranks outside of containers */
	const struct requested_container *ask;
	const struct planned_container *plan;
	unsigned index; /* index of the container in its request */
	const char *name; /* name of the container; "": outside of all containers */
	bool outside; /* its ranks requested no container */
	unsigned ranks; /* ranks of the part on this node */
};

/* What is known about the node and the job before planning. */
struct isolator_node {
	const struct conf *conf;
	const char *conf_path;
	enum guarantee guarantee; /* guarantee of memory */
	uint64_t job_memory; /* bytes that Slurm gave the job on this node; 0: unknown */
};

/* Input for planning. The ledger is open; the caller owns the pointers. */
struct isolator_planning {
	const struct conf *conf;
	const char *conf_path;
	const struct request *request;
	struct ledger *ledger;
	const struct ledger_job *job; /* NULL: no entry yet */
	uint64_t step_inode;
	const struct idset *node_cpus, *job_cpus;
	/* CPUs that the ranks of a step of srun need; 0: a job script, whose steps are unknown */
	unsigned wanted;
	struct idset cpus; /* CPUs that the planner may give */
	const char *kept; /* reason why CPUS lacks some of the job's CPUs; NULL: it lacks none */
	/* true: the plan is being made now; false: it was made earlier, and CPUS is unknown */
	bool offered;
	/*
	 * OUTSIDE: CPUs that live containers leave to the system; ANY_HPC: one of these containers
	 * has SCHED_HPC
	 */
	struct idset outside;
	bool any_hpc;
};

/* A step on this node, as root sees it. The caller owns everything. */
struct isolator_step {
	const struct conf *conf;
	const char *conf_path;
	const struct blocks *blocks;
	int cgroup_fd;
	const char *user; /* the step's directory "user", below the cgroup mount */
	const struct idset *step_cpus; /* the step's CPUs, as Slurm gave them */
	uint32_t step_id;
	uint64_t inode; /* inode of the step's directory */
	const char *step_cgroup; /* path of the step's directory; set when the step is prepared */
	pid_t stepd; /* slurmstepd */
	uint64_t job_memory; /* bytes that Slurm gave the job on this node; 0: unknown */
	/* CPUs that the ranks of a step of srun need; 0: unknown, as in struct isolator_planning */
	unsigned wanted;
	const char *job_cgroup;
	uint64_t job_inode;
	const struct idset *job_cpus;
	bool own_mems; /* the ServiceOS has memory nodes of its own */
	bool own_container; /* the container is made for this step alone */
	/*
	 * the directory whose removal ends the containers: the job's or, for step containers, the
	 * step's
	 */
	const char *owner;
	uint64_t owner_inode;
	uid_t uid;
	gid_t gid;
	const gid_t *group; /* N_GROUPS elements */
	int n_groups;
	unsigned n;
	struct isolator_part *part; /* N elements */
};

/* Where a rank is, for the hook show. */
struct isolator_place {
	const char *container; /* its name */
	unsigned nth; /* position among the container's ranks on this node, from 0 */
	struct page_runs *extent; /* gets how contiguous the rank's own extent is */
};

/* A rank that checks itself, with its user's rights, just before exec. */
struct isolator_rank {
	unsigned number; /* number of the rank in the whole step */
	const char *container; /* "": the rest outside */
	const struct idset *chosen; /* the rank's own CPUs */
	/* the containers leave no CPU outside, so the rank shares all CPUs of the containers */
	bool shares_all;
	/*
	 * returns the value of the rank's environment variable NAME, valid until the next call, or
	 * NULL if the variable is not set
	 */
	const char *(*get)(void *arg, const char *name);
	void *arg;
	/* the kernel's present settings of this rank, for the hooks verify and value */
	const struct idset *kernel_cpus, *kernel_mems;
	int kernel_policy;
};

/* A container that a report or a dry run describes, with what decides its outcomes. */
struct reported_container {
	const struct requested_container *ask;
	const struct planned_container *got;
	const struct conf *conf;
	struct outcome_node node;
	/* path of the container's buffer; NULL: no buffer, or no access to it */
	const char *buffer;
};

/* A live container that changes; the ledger is open. */
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
	/* environment variable that gives a rank the value of this isolator; NULL: none */
	const char *variable;

	/*
	 * Return 0 if the site allows what ASK requests of this isolator. Called at submit with the
	 * user's rights, and on the node.
	 */
	int (*allowed)(const struct requested_container *ask, const struct conf *conf,
		       const char *conf_path, struct errbuf *err);
	/* Return 0 if this node can ever give what R requests. Called before planning. */
	int (*possible)(const struct request *r, const struct isolator_node *n, struct errbuf *err);
	/* Must the job have its CPUs alone? OF_SRUN: the container has a step of srun. */
	bool (*alone)(const struct requested_container *ask, const struct conf *conf, bool of_srun);
	/* Before planning: remove forbidden CPUs from P->cpus, and set P->kept. */
	int (*offer)(struct isolator_planning *p, struct errbuf *err);
	/* Return 0 if PLAN's containers can exist beside each other and beside all live ones. */
	int (*planned)(const struct isolator_planning *p, const struct job_plan *plan,
		       struct errbuf *err);
	/* Fill the settings of P from its request and plan. The ledger is open. */
	int (*give)(const struct isolator_step *s, struct isolator_part *p, struct errbuf *err);
	/*
	 * The ledger is open. Return 0 if P can exist beside JOB's and the node's live containers.
	 */
	int (*accept)(const struct isolator_step *s, struct isolator_part *p,
		      const struct ledger_job *job, struct errbuf *err);
	/* Called as root, for the whole step, before its first rank is placed. */
	int (*step)(const struct isolator_step *s, struct errbuf *err);
	/* Called as root for each rank before it continues: process PID in directory TASK. */
	int (*rank)(const struct isolator_step *s, const struct isolator_part *p, pid_t pid,
		    const char *task, struct errbuf *err);
	/*
	 * Called in the rank, still as root, in the mount namespace of its program. If a step's
	 * request uses an isolator with this hook, the ranks of the step wait until it is prepared.
	 */
	int (*show)(const struct rank_settings *g, const struct isolator_place *at,
		    struct errbuf *err);
	/* Called in the rank, as its user. */
	int (*enter)(const struct rank_settings *g, const struct isolator_rank *r,
		     struct errbuf *err);
	/* In the rank, after all enter hooks. Return 0 if the kernel shows what was planned. */
	int (*verify)(const struct rank_settings *g, const struct isolator_rank *r,
		      struct errbuf *err);
	/* Write the value of VARIABLE to BUF, or "" to leave the variable out. */
	void (*value)(const struct rank_settings *g, const struct isolator_rank *r, char *buf,
		      size_t size);
	/* Call FN with names and values of further variables; if G is NULL, with the value "". */
	void (*values)(const struct rank_settings *g,
		       void (*fn)(const char *name, const char *value, void *arg), void *arg);

	/* Add the outcome of this isolator, for a dry run, a launch or a report. */
	void (*outcome)(struct outcomes *o, const struct reported_container *j);
	/* Write members of the object "asked" (hook asked), or of the container (hook report). */
	void (*asked)(struct json_out *j, const struct requested_container *ask);
	void (*report)(struct json_out *j, const struct reported_container *c);
	/*
	 * Write the same members as text: on the line with the container's name (hook text), and on
	 * lines below it (hook detail).
	 */
	void (*text)(FILE *f, const struct reported_container *c);
	void (*detail)(FILE *f, const struct reported_container *c);

	/* Return 0 if CHANGE may be made to the live container. */
	int (*resize)(const struct isolator_change *change, struct errbuf *err);
	/*
	 * Release the resources in the ledger entry of S, which ends or has ended. The ledger is
	 * open, and the entry still exists. Adds the CPUs that S had exclusively to GONE. May be
	 * called again.
	 */
	void (*drop)(int cgroup_fd, const struct ledger_step *s, struct idset *gone);
	/*
	 * Release the resources of the job or step whose directory had INODE; if INDEX is not -1,
	 * only those of container INDEX of its request. The job, step or container has ended. May
	 * wait for devices, so the caller holds no lock. May be called again.
	 */
	void (*release)(const char *state_dir, uint64_t inode, int index);
};

#define ISOLATOR_ROW(id, name) extern const struct isolator isolator_##name;
ISOLATORS(ISOLATOR_ROW)
#undef ISOLATOR_ROW
extern const struct isolator isolator_number; /* the row of all RANK_NUMBERS */

/* Each function calls the hook of its name for all isolators in order, up to the first failure. */

/*
 * Return 0 if the site allows container ASK. The call at submit only gives an early message; the
 * call on the node decides.
 */
int isolators_allowed(const struct requested_container *ask, const struct conf *conf,
		      const char *conf_path, struct errbuf *err);
/*
 * Return 0 if the job of USER may have every isolator that R requests (allow_NAME in the file
 * CONF_PATH), or -1 with the container, the isolator and the key in ERR. Each isolator is checked
 * only once, because the user database may be slow.
 */
int isolators_user_may(const struct request *r, const struct conf *conf,
		       const struct conf_user *user, const char *conf_path, struct errbuf *err);
int isolators_possible(const struct request *r, const struct isolator_node *n, struct errbuf *err);
bool isolators_alone(const struct request *r, const struct conf *conf, bool of_srun);
/* Also sets P->OFFERED. */
int isolators_offer(struct isolator_planning *p, struct errbuf *err);
int isolators_planned(const struct isolator_planning *p, const struct job_plan *plan,
		      struct errbuf *err);
int isolators_give(const struct isolator_step *s, struct isolator_part *p, struct errbuf *err);
int isolators_accept(const struct isolator_step *s, struct isolator_part *p,
		     const struct ledger_job *job, struct errbuf *err);
int isolators_step(const struct isolator_step *s, struct errbuf *err);
int isolators_rank(const struct isolator_step *s, const struct isolator_part *p, pid_t pid,
		   const char *task, struct errbuf *err);
/* Return whether R uses an isolator with a show hook. */
bool isolators_shown(const struct request *r);
int isolators_show(const struct rank_settings *g, const struct isolator_place *at,
		   struct errbuf *err);
int isolators_enter(const struct rank_settings *g, const struct isolator_rank *r,
		    struct errbuf *err);
int isolators_verify(const struct rank_settings *g, const struct isolator_rank *r,
		     struct errbuf *err);

/* Call FN with each variable of a rank and its value; if G is NULL, with "" for every variable. */
void isolators_values(const struct rank_settings *g, const struct isolator_rank *r,
		      void (*fn)(const char *name, const char *value, void *arg), void *arg);

/* Write outcomes of J's isolators, ignored ones too, to OUT[OUTCOMES_MAX]. Returns their number. */
unsigned isolators_outcome(struct isolator_outcome *out, const struct reported_container *j);
void isolators_asked(struct json_out *j, const struct requested_container *ask);
void isolators_report(struct json_out *j, const struct reported_container *c);
void isolators_text(FILE *f, const struct reported_container *c);
void isolators_detail(FILE *f, const struct reported_container *c);

int isolators_resize(const struct isolator_change *change, struct errbuf *err);
void isolators_drop(int cgroup_fd, const struct ledger_step *s, struct idset *gone);
void isolators_release(const char *state_dir, uint64_t inode, int index);

/*
 * Note in G why something is not as requested. This is no failure, even if nodeos.conf is strict:
 * Slurm's own limits hold, or the report says what the ranks have instead.
 */
void isolator_note(struct rank_settings *g, const char *why);

/*
 * Return a request for huge pages on the memory nodes of G, within the limits of S's job. The
 * caller adds the number and size of the ranks' extents.
 */
struct reserve_ask isolator_reserve_ask(const struct isolator_step *s,
					const struct rank_settings *g);

#endif
