/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_OUTCOME_H
#define NODEOS_CONTAINER_OUTCOME_H

#include <stdbool.h>

#include "base/json_out.h"
#include "host/conf.h"
#include "manifest/request.h"

/*
 * What became of each isolator of a container on this node. AppC (ace.md) demands that
 * this is told to the user; dry run, launch and report use this one function.
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
	char reason[200]; /* "" when enforced as asked */
};

#define OUTCOMES_MAX 40 /* container, scheduler, dimmap and every ignored bit */

const char *outcome_name(enum outcome o);

/* How the ranks of a container are scheduled. */
struct sched_given {
	enum sched_policy policy;
	unsigned priority;
	unsigned quantum; /* milliseconds, with hpc only */
	/* hpc was asked for, this kernel has none, and the site has said what to take instead */
	bool fallback;
};

/*
 * What container ASK gets: its own or the site's default. THIS_KERNEL: is it for the kernel
 * that runs here, whose policies are known?
 */
void outcome_sched(struct sched_given *out, const struct requested_container *ask,
		   const struct conf *conf, bool this_kernel);

/* What a container with memory nodes of its own can rely on. */
enum guarantee {
	GUARANTEE_UNKNOWN, /* a dry run for a machine that tells nothing of it */
	/* place only: nothing keeps others from filling these nodes, or it from asking for more */
	GUARANTEE_ADVISORY,
	/* the memory controller bounds each job, nobody keeps them off the same nodes */
	GUARANTEE_AMOUNT,
	GUARANTEE_PHYSICAL, /* blocks that the kernel's fgmn= has made, and nobody else's */
};

/* "physical", "amount", "advisory"; NULL: unknown */
const char *guarantee_name(enum guarantee g);

/* What the node knows when it judges. */
struct outcome_node {
	bool alone; /* the job holds every CPU of this node */
	enum guarantee guarantee;
	/* bytes that the container's memory nodes have for programs; 0: not known */
	uint64_t usable;
	/* policy_supported() may be asked of this kernel (false: dry run) */
	bool policy_known;
};

/* What became of a container's isolators, one after the other, in O[OUTCOMES_MAX] of the caller. */
struct outcomes {
	unsigned n;
	struct isolator_outcome *o;
};

/* The entry of that name, made as enforced when it is not there. */
struct isolator_outcome *outcome_of(struct outcomes *o, const char *isolator);

/* The entry becomes OUTCOME if that is worse, with the text behind its reasons. */
void outcome_note(struct isolator_outcome *o, enum outcome outcome, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Members "placement" and "quantum_ms", of policy hpc only. */
void outcome_hpc_json(struct json_out *j, enum sched_policy policy, unsigned priority,
		      unsigned quantum);

#endif
