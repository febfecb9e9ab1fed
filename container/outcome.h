/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_OUTCOME_H
#define NODEOS_CONTAINER_OUTCOME_H

#include <stdbool.h>

#include "base/json_out.h"
#include "host/conf.h"
#include "manifest/request.h"

/*
 * The outcome of each isolator of a container on this node. AppC (ace.md) requires that users can
 * see the outcomes; dry run, launch and report use the same functions.
 */
enum outcome {
	OUTCOME_ENFORCED,
	OUTCOME_MODIFIED,
	OUTCOME_IGNORED,
	OUTCOME_FAILED,
};

struct isolator_outcome {
	char isolator[32];
	enum outcome outcome;
	char reason[200]; /* "": enforced as requested */
};

/* enough for container, scheduler, dimmap and every isolator that can be ignored */
#define OUTCOMES_MAX 40

const char *outcome_name(enum outcome o);

/* How the ranks of a container are scheduled. */
struct sched_given {
	enum sched_policy policy;
	unsigned priority;
	unsigned quantum; /* milliseconds, only with hpc */
	/* policy hpc was requested, but this kernel lacks it; POLICY is the site's replacement */
	bool fallback;
	/* what the container requests, or what the replacement, lwk or guest implies */
	enum partition partition;
	/* PARTITION is part of the replacement: a step without it is "modified", not refused */
	bool for_hpc;
	/* PARTITION comes with lwk or guest and was not requested; the step can do without it */
	bool for_lwk;
};

/*
 * Set OUT to the policy for container ASK, or to the site's default if ASK names none. THIS_KERNEL:
 * OUT is for the running kernel, whose policies are known.
 */
void outcome_sched(struct sched_given *out, const struct requested_container *ask,
		   const struct conf *conf, bool this_kernel);

/*
 * Write to TEXT which features of policy hpc a partition lacks for a container with CPUS: "" or ";
 * missing: ...". NO_TICK: the CPUs in the boot parameter nohz_full=.
 */
void outcome_hpc_missing(char *text, size_t size, const struct requested_container *ask,
			 const struct idset *cpus, const struct idset *no_tick);

/* How far a container's memory nodes are guaranteed to the container. */
enum guarantee {
	GUARANTEE_UNKNOWN, /* a dry run for a machine whose guarantee is unknown */
	/*
	 * placement only: other jobs may fill these nodes, and the container may use more memory
	 * than they have
	 */
	GUARANTEE_ADVISORY,
	/* the memory controller limits each job, but other jobs may use the same nodes */
	GUARANTEE_AMOUNT,
	/* blocks of a stock kernel (numa=fake=NU), for this container and the kernel itself */
	GUARANTEE_UNIFORM,
	GUARANTEE_PHYSICAL, /* blocks (boot parameter fgmn=), used by this container alone */
};

/* "physical", "uniform", "amount", "advisory"; NULL: unknown */
const char *guarantee_name(enum guarantee g);

/* The state of the node that affects the outcome of a container. */
struct outcome_node {
	bool alone; /* the job has every CPU of this node */
	enum guarantee guarantee;
	/* bytes that programs can use of the container's memory nodes; 0: unknown */
	uint64_t usable;
	/* the container is for this node, so that policy_supported() applies; false: dry run */
	bool policy_known;
};

/* The outcomes of a container's isolators, in the caller's O[OUTCOMES_MAX]. */
struct outcomes {
	unsigned n;
	struct isolator_outcome *o;
};

/* Return the entry of ISOLATOR; a new entry is "enforced". */
struct isolator_outcome *outcome_of(struct outcomes *o, const char *isolator);

/* Set the entry to OUTCOME if that is worse, and append the text to its reasons. */
void outcome_note(struct isolator_outcome *o, enum outcome outcome, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Write the members "placement" and "quantum_ms" if POLICY is hpc. */
void outcome_hpc_json(struct json_out *j, enum sched_policy policy, unsigned priority,
		      unsigned quantum);

#endif
