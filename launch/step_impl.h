/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LAUNCH_STEP_IMPL_H
#define NODEOS_LAUNCH_STEP_IMPL_H

#include <stdatomic.h>

#include "base/hostname.h"
#include "base/idset.h"
#include "container/isolator.h"
#include "container/ledger.h"
#include "host/blocks.h"
#include "host/cgroup.h"
#include "host/conf.h"
#include "launch/step.h"
#include "manifest/choice.h"
#include "manifest/request.h"
#include "serviceos/state.h"

/*
 * Inside of struct step, for the files of this room only. "shared" is a MAP_SHARED mapping made
 * before the fork: the ranks read the root side's later decisions there.
 */
#define STEP_PLAN_JSON_MAX (512u << 10)

struct step_rank {
	pid_t pid;
	unsigned global_rank;
	unsigned part; /* index of its part */
	char task[LEDGER_TASK_MAX]; /* name of its directory */
	struct idset bound; /* as Slurm bound it */
	struct idset chosen; /* as the rank map says */
	/* what the kernel shows in the rank, just before exec */
	struct idset kernel_cpus;
	struct idset kernel_mems;
	struct idset kernel_membind; /* nodes of its memory policy */
	int kernel_policy;
	int kernel_priority;
	unsigned kernel_quantum;
	int kernel_mempolicy;
	bool entered;
};

enum step_kind {
	STEP_NAMED, /* in a container of the plan */
	STEP_REST, /* no name among several containers: the rest outside */
	STEP_NONE, /* asked to be outside of all containers */
};

/* Ranks of a step in one place. Most steps have one part. */
struct step_part {
	enum step_kind kind;
	bool shares_all; /* STEP_REST, but no CPU is left: all CPUs of the job */
	bool shares_ranks; /* ranks of another step have these CPUs, too */
	uint32_t shares_with; /* that step */
	unsigned fewer_cpus; /* if -c asks for more for each rank; 0: no */
	enum outcome outcome; /* the worst of the container's isolators */
	char why[200]; /* its reason; "": as asked */
	char container[REQUEST_NAME_MAX]; /* "" unless STEP_NAMED */
	struct given given;
	/* POLICY_HPC with more ranks than CPUs, and no quantum in the request */
	bool takes_turns;
	unsigned n_ranks; /* of it on this node */
};

/* every container, the rest, and none */
#define STEP_PARTS_MAX (REQUEST_CONTAINERS_MAX + 2)

struct step_shared {
	atomic_int failing; /* a process writes ERROR */
	atomic_int failed; /* ERROR is complete */
	atomic_int told; /* a rank prints the message */
	atomic_int prepared; /* step_prepare() is done */
	atomic_uint entered; /* ranks that have passed step_enter(), failed ones included */
	atomic_uint passed; /* the part of them that went on to exec */
	char error[sizeof(((struct errbuf *)0)->text)];

	bool own_container; /* made for this step alone */
	/* for the ranks' environment, which lacks it, and their sruns; "": none */
	char script_request[REQUEST_TEXT_MAX];
	unsigned n_parts;
	struct step_part part[STEP_PARTS_MAX];
	/* members "request", "containers", "serviceos", "free" of the report */
	char plan_json[STEP_PLAN_JSON_MAX];

	struct step_rank rank[]; /* input.n_ranks */
};

struct step {
	struct step_input in;
	/* job's or step's, parsed; NULL: not known yet, or invalid */
	struct request *request;
	struct choice *choice; /* NULL: --nodeos-container is not given, or not parsed yet */
	char node[NODE_NAME_MAX];
	bool prepared;
	const char *kept; /* why containers may not have all free CPUs; NULL: no reason */
	bool from_ledger; /* the request: the step has no environment of its job */
	struct errbuf warning, note;
	struct step_shared *shared;
	size_t shared_size;

	/* root side, kept from the first step_place to step_end */
	struct conf conf;
	struct service_set service; /* the node's ServiceOS; empty sets: none */
	struct blocks blocks; /* of a kernel that has divided its memory nodes */
	int cgroup_fd; /* within one step_place only */
	char user[CGROUP_PATH_MAX]; /* the step's directory "user" */
	uint64_t job_inode;
	uint64_t step_inode;
	struct idset step_cpus; /* CPUs that Slurm gave the step */
	struct idset *core;
	unsigned n_cores;
};

/*
 * Log a decision about the step S in PHASE of its launch. The arguments are evaluated only if there
 * is a log; Slurm formats the line only at its level.
 */
#define STEP_LOG(s, phase, fmt, ...)                                                   \
	do {                                                                           \
		void (*log_)(const char *, ...) = (s)->conf.debug ? (s)->in.log_info   \
								  : (s)->in.log_debug; \
                                                                                       \
		if (log_)                                                              \
			log_("nodeos: " phase ": step %u.%u: " fmt, (s)->in.job_id,    \
			     (s)->in.step_id, ##__VA_ARGS__);                          \
	} while (0)

/* The word for a part in the ledger and in reports: its container, "none", or "-" for the rest. */
const char *step_part_word(const struct step_part *p);

/* Is OTHER, a step of the same job, in the same container as P of S? Step containers of one name
 * are different ones. */
bool step_is_in(const struct step *s, const struct ledger_step *other, const struct step_part *p);

/* step_warning.c: append WHY (its text may be "") to the warning that step_warning() gives next. */
void step_add_warning(struct step *s, const struct errbuf *why);

struct node_view;

/*
 * isolate.c: describe S to its isolators, without parts, or with all parts, written to PART; or one
 * of its parts. V: while the step is prepared; NULL: later, without request and plan.
 */
void step_isolators(struct isolator_step *out, const struct step *s, const struct node_view *v);
void step_isolator_parts(struct isolator_step *out, struct isolator_part part[STEP_PARTS_MAX],
			 const struct step *s, const struct node_view *v);
void step_isolator_part(struct isolator_part *out, struct step_part *p, const struct node_view *v);

/* prepare.c: find or make the plan, choose the containers, widen the step. */
int step_prepare(struct step *s, unsigned rank, pid_t pid, struct errbuf *err);

/* step_report.c: write the report of this step with the caller's (the user's) rights. */
int step_report(const struct step *s, struct errbuf *err);

#endif
