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
 * The members of struct step, only for the files of this room. SHARED is a MAP_SHARED mapping made
 * before the fork: there the ranks read the later decisions of root.
 */
#define STEP_PLAN_JSON_MAX (512u << 10)

struct step_rank {
	pid_t pid;
	unsigned global_rank;
	unsigned part; /* index of its part */
	char task[LEDGER_TASK_MAX]; /* name of its directory */
	struct idset bound; /* CPUs to which Slurm bound it */
	struct idset chosen; /* CPUs from the rank map */
	/* the kernel's state of the rank, just before exec */
	struct idset kernel_cpus;
	struct idset kernel_mems;
	struct idset kernel_membind; /* nodes of its memory policy */
	int kernel_policy;
	int kernel_priority;
	unsigned kernel_quantum;
	int kernel_mempolicy;
	bool entered;
	struct page_runs extent; /* extent of the rank's machine; RUNS 0: no machine, or unknown */
	struct rank_counted counted; /* counts of the rank's machine (nodeos-lwk), if it has one */
};

enum step_kind {
	STEP_NAMED, /* in a container of the plan */
	STEP_REST, /* on CPUs outside of all containers: there are several, and none is selected */
	STEP_NONE, /* outside of all containers, by --nodeos-container=none */
};

/* The ranks of a step in one place. Most steps have only one part. */
struct step_part {
	enum step_kind kind;
	/* STEP_REST while containers have all CPUs: the ranks share all CPUs of the job */
	bool shares_all;
	bool shares_ranks; /* ranks of another step have these CPUs, too */
	uint32_t shares_with; /* number of that step */
	unsigned fewer_cpus; /* CPUs of a rank that has fewer than -c requests; 0: none */
	enum outcome outcome; /* the worst outcome of the container's isolators */
	char why[200]; /* reason of this outcome; "": as requested */
	char container[REQUEST_NAME_MAX]; /* "" unless STEP_NAMED */
	struct rank_settings given;
	/* POLICY_HPC with more ranks than CPUs; the request has no quantum, or quantum 0 */
	bool takes_turns;
	unsigned n_ranks; /* ranks of this part on this node */
};

/* one for each container, one of STEP_REST and one of STEP_NONE */
#define STEP_PARTS_MAX (REQUEST_CONTAINERS_MAX + 2)

/* How long the ranks of a step on this node waited for CPUs, until their end. */
struct step_waits {
	bool measured; /* the ranks have ended */
	bool known; /* the kernel counts it (PSI) */
	uint64_t waited_us; /* time in which at least one task of a rank waited for a CPU */
	uint64_t ran_us; /* CPU time of the ranks */
};

#define STEP_REPORT_PATH_MAX 4096

/* The report that a rank has written. */
struct step_report_file {
	char path[STEP_REPORT_PATH_MAX]; /* absolute */
	uint64_t device, inode; /* INODE 0: none */
};

struct step_shared {
	atomic_int failing; /* a process is writing ERROR */
	atomic_int failed; /* ERROR is complete */
	atomic_int told; /* set by the rank that prints the message */
	atomic_int prepared; /* step_prepare() has ended */
	atomic_uint entered; /* ranks that have ended step_enter(), including failed ones */
	atomic_uint passed; /* entered ranks that continued to exec */
	char error[sizeof(((struct errbuf *)0)->text)];

	bool own_container; /* the container was made for this step alone */
	/* the manifest of the job script, for the environment of ranks and their sruns; "": none */
	char script_request[REQUEST_TEXT_MAX];
	unsigned n_parts;
	struct step_part part[STEP_PARTS_MAX];
	struct step_waits waits;
	struct step_report_file report;
	/* members "request", "containers", "serviceos", "free" of the report */
	char plan_json[STEP_PLAN_JSON_MAX];

	struct step_rank rank[]; /* n_ranks elements, see step_input */
};

struct step {
	struct step_input in;
	/* parsed request of the job or the step; NULL: not known yet, or invalid */
	struct request *request;
	struct choice *choice; /* NULL: --nodeos-container is not given, or not parsed yet */
	char node[NODE_NAME_MAX];
	bool prepared;
	const char *kept; /* reason why containers may not have all free CPUs; NULL: none */
	/* the request comes from the ledger: the step has no environment of its job */
	bool from_ledger;
	struct errbuf warning, note;
	unsigned ended; /* ranks that have ended, in slurmstepd */
	struct step_shared *shared;
	size_t shared_size;

	/* root side, valid from the first step_place() to step_end(): */
	struct conf conf;
	struct service_set service; /* ServiceOS of the node; empty sets: none */
	struct blocks blocks; /* blocks of a kernel that has divided its memory nodes */
	int cgroup_fd; /* open only during a call of step_place() */
	char user[CGROUP_PATH_MAX]; /* the step's directory "user" */
	uint64_t job_inode;
	uint64_t step_inode;
	struct idset step_cpus; /* CPUs that Slurm gave the step */
	struct idset *core;
	unsigned n_cores;
	struct idset *domain; /* caches, memory nodes and packages of the job's CPUs */
	unsigned n_domains;
};

/*
 * Log a decision about the step S in PHASE of its launch. The arguments are evaluated only if there
 * is a log; Slurm formats the line only if the log level requires it.
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

/*
 * Return the word for a part in the ledger and in reports: its container, "none", or "-" for
 * STEP_REST.
 */
const char *step_part_word(const struct step_part *p);

/*
 * Is OTHER, a step of the same job, in the same container as P of S? Step containers with the same
 * name are different containers.
 */
bool step_is_in(const struct step *s, const struct ledger_step *other, const struct step_part *p);

/*
 * partition_turn.c: with WORDS (partition_quiet of nodeos.conf), make the settings that keep the
 * CPUs of live partitions quiet; with 0, undo those that no live partition needs any more. The
 * ledger L is open.
 */
int step_quiet(struct ledger *l, uint32_t words, struct errbuf *err);

/* step_warning.c: append WHY (its text may be "") to the next text that step_warning() returns. */
void step_add_warning(struct step *s, const struct errbuf *why);

struct node_view;

/* isolate.c: return how many CPUs the ranks of an srun need on this node; 0 for other steps. */
unsigned step_wanted_cpus(const struct step *s);

/*
 * isolate.c: describe S to its isolators. step_isolators() leaves out the parts;
 * step_isolator_parts() writes all of them to PART; step_isolator_part() describes one part. After
 * the step is prepared, V is NULL, and the members from V are unset.
 */
void step_isolators(struct isolator_step *out, const struct step *s, const struct node_view *v);
void step_isolator_parts(struct isolator_step *out, struct isolator_part part[STEP_PARTS_MAX],
			 const struct step *s, const struct node_view *v);
void step_isolator_part(struct isolator_part *out, struct step_part *p, const struct node_view *v);

/* step_part.c: return how many ranks of its part come before RANK. */
unsigned step_nth_of_part(const struct step *s, unsigned rank);

/* prepare.c: find or make the plan, choose the containers, add their CPUs to the step. */
int step_prepare(struct step *s, unsigned rank, pid_t pid, struct errbuf *err);

/* step_report.c: write the report of this step with the rights of the caller, the user. */
int step_report(const struct step *s, struct errbuf *err);
/*
 * step_report.c: write the report again, with the same rights and the present contents of
 * S->shared. Returns -1 and changes nothing if the file of the first report is no longer at its
 * path.
 */
int step_report_again(const struct step *s, struct errbuf *err);

/* step_waits.c: read how long the tasks of cgroup PATH below ROOT_FD have waited for CPUs. */
void step_waits_read(struct step_waits *out, int root_fd, const char *path);

#endif
