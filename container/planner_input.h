/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_PLANNER_INPUT_H
#define NODEOS_CONTAINER_PLANNER_INPUT_H

#include "base/idset.h"
#include "base/subprocess.h"
#include "container/job_plan.h"
#include "topology/plan.h"

/*
 * What the root side asks the planning helper, as text on its standard input:
 * one "key value" line each, in this order: cores, cpus, mems, taken,
 * default_mems, request; and before that, for a container that is to be resized
 * (topology/resize.h), what it has: has_cpus, has_reserved, has_mems, has_confined. The request is
 * then of this one container: what it is to have, cpus=0 and no mems being as it is; cpus and mems
 * are what it may have, its own included.
 */
struct plan_input {
	struct idset cores; /* list every core of these CPUs in the answer */
	struct idset cpus; /* may be given away */
	struct idset mems;
	struct idset mems_taken;
	enum mems_default default_mems;
	const char *request; /* canonical request text */
	bool resize;
	struct idset has_cpus, has_reserved, has_mems;
	bool has_confined;
};

/* malloc'ed text; NULL when out of memory. */
char *plan_input_format(const struct plan_input *in);

/*
 * SITE's default_mems, or what holds on a node whose system has memory nodes of its own (OWN_MEMS),
 * or whose memory is in blocks: who asks for none is bound to ordinary memory in the first, and has
 * the job's share in the second.
 */
enum mems_default plan_input_default_mems(enum mems_default site, bool own_mems, bool blocks);

/*
 * Ask the helper H (its program, rights and time; the rest is filled in) for a plan, on the machine
 * that STATE_DIR has since boot; without that the helper looks for itself. *OUT is what it answers:
 * it has a user's rights, so the caller checks it. -1 without an answer.
 */
int plan_input_ask(struct job_plan **out, struct subprocess *h, const char *state_dir,
		   const struct plan_input *in, struct errbuf *err);

/* The answer *OUT is not one to IN, as ERR says: free it. -1. */
int plan_input_refuse(struct job_plan **out, struct errbuf *err);

/* Parse; OUT->request points into TEXT, which is cut up. */
int plan_input_parse(struct plan_input *out, char *text, struct errbuf *err);

#endif
