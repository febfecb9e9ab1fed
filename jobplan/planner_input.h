/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_JOBPLAN_PLANNER_INPUT_H
#define NODEOS_JOBPLAN_PLANNER_INPUT_H

#include "base/idset.h"
#include "base/subprocess.h"
#include "jobplan/apart.h"
#include "jobplan/job_plan.h"
#include "topology/plan.h"

/*
 * Input of the planning helper, as text on its standard input: one line "KEY VALUE" for each key,
 * in this order: cores, cpus, mems, taken, default_mems, request. If containers of the request had
 * devils, the line "devils BITS CPUS" before the request has APART, with BITS in hexadecimal. To
 * resize a container (topology/resize.h), the lines has_cpus, has_reserved, has_mems and
 * has_confined before the request describe its present state. The request then has only this
 * container with its new size, where cpus=0 and no mems mean unchanged; the lines cpus and mems are
 * those that the container may get, including its present ones.
 */
struct plan_input {
	struct idset cores; /* the answer lists every core of these CPUs */
	struct idset cpus; /* CPUs that containers may get */
	struct idset mems;
	struct idset mems_taken;
	enum mems_default default_mems;
	struct apart apart;
	const char *request; /* canonical request text */
	bool resize;
	struct idset has_cpus, has_reserved, has_mems;
	bool has_confined;
};

/* Return the text, malloc'ed; NULL when out of memory. */
char *plan_input_format(const struct plan_input *in);

/*
 * Adapt SITE's default_mems to this node, for a container that requests no memory nodes: if the
 * ServiceOS has memory nodes of its own (OWN_MEMS), the container is bound to ordinary memory; if
 * the node's memory is in BLOCKS, the container uses the job's share.
 */
enum mems_default plan_input_default_mems(enum mems_default site, bool own_mems, bool blocks);

/*
 * Run the helper H (the caller sets program, rights and time; this function sets the rest) to get a
 * plan on the machine that STATE_DIR describes since boot; without a description the helper detects
 * the machine. *OUT comes from a process with a user's rights, so the caller must check it. Returns
 * -1 when there is no answer.
 */
int plan_input_ask(struct job_plan **out, struct subprocess *h, const char *state_dir,
		   const struct plan_input *in, struct errbuf *err);

/* Free *OUT, a plan that does not fit its input. ERR has the reason already. Returns -1. */
int plan_input_refuse(struct job_plan **out, struct errbuf *err);

/* Parse TEXT, which is modified; OUT->request points into it. */
int plan_input_parse(struct plan_input *out, char *text, struct errbuf *err);

#endif
