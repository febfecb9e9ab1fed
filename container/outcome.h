/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_OUTCOME_H
#define NODEOS_CONTAINER_OUTCOME_H

#include <stdbool.h>

#include "base/json_out.h"
#include "host/conf.h"
#include "manifest/request.h"

/*
 * The outcome of each isolator of a container on this node. AppC (ace.md) requires that users can
 * see it; dry run, launch and report use the same functions.
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

#define OUTCOMES_MAX 40 /* container, scheduler, dimmap and every bit for an ignored isolator */

const char *outcome_name(enum outcome o);

/* How the ranks of a container are scheduled. */
struct sched_given {
	enum sched_policy policy;
	unsigned priority;
	unsigned quantum; /* milliseconds, only with hpc */
	/* hpc was requested, but this kernel lacks it, and POLICY is the site's replacement */
	bool fallback;
	/* the container's own partition, or that of the replacement */
	enum partition partition;
	/* PARTITION is part of the replacement: a step without it is "modified", not refused */
	bool for_hpc;
};

/*
 * Set OUT to the policy for container ASK: its own, or the site's default. THIS_KERNEL: OUT is for
 * the running kernel, whose policies are known.
 */
void outcome_sched(struct sched_given *out, const struct requested_container *ask,
		   const struct conf *conf, bool this_kernel);

/* Degree of guarantee for the memory of a container's own memory nodes. */
enum guarantee {
	GUARANTEE_UNKNOWN, /* a dry run for a machine whose guarantee is unknown */
	/*
	 * placement only: other jobs may fill these nodes, and the container may use more memory
	 * than they have
	 */
	GUARANTEE_ADVISORY,
	/* the memory controller bounds each job, but other jobs may use the same nodes */
	GUARANTEE_AMOUNT,
	GUARANTEE_PHYSICAL, /* blocks, made by the kernel's fgmn=, for this container alone */
};

/* "physical", "amount", "advisory"; NULL: unknown */
const char *guarantee_name(enum guarantee g);

/* The state of the node that affects the outcome of a container. */
struct outcome_node {
	bool alone; /* the job has every CPU of this node */
	enum guarantee guarantee;
	/* bytes that programs can use of the container's memory nodes; 0: unknown */
	uint64_t usable;
	/* policy_supported() is true of this node's kernel (false: dry run) */
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

/* Write members "placement" and "quantum_ms", for policy hpc only. */
void outcome_hpc_json(struct json_out *j, enum sched_policy policy, unsigned priority,
		      unsigned quantum);

#endif
