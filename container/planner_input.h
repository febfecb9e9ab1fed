/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_PLANNER_INPUT_H
#define NODEOS_CONTAINER_PLANNER_INPUT_H

#include "base/idset.h"
#include "base/subprocess.h"
#include "container/job_plan.h"
#include "topology/plan.h"

/*
 * Input of the planning helper, as text on its standard input: one line "key value" each, in this
 * order: cores, cpus, mems, taken, default_mems, request. To resize a container
 * (topology/resize.h), the lines has_cpus, has_reserved, has_mems and has_confined precede the
 * request and say what it has. The request is then of this one container with its new size, where
 * cpus=0 and no mems mean unchanged; cpus and mems are what it may get, its present ones included.
 */
struct plan_input {
	struct idset cores; /* the answer lists every core of these CPUs */
	struct idset cpus; /* may be given to containers */
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
 * SITE's default_mems, adapted to this node: where its system has memory nodes of its own
 * (OWN_MEMS), a container that asks for no memory nodes is bound to ordinary memory; where its
 * memory is in BLOCKS, such a container uses the job's share.
 */
enum mems_default plan_input_default_mems(enum mems_default site, bool own_mems, bool blocks);

/*
 * Ask the helper H (its program, rights and time; this function fills in the rest) for a plan on
 * the machine that STATE_DIR describes since boot; without a description the helper detects it.
 * *OUT is the answer of a process with a user's rights: the caller must check it. -1: no answer.
 */
int plan_input_ask(struct job_plan **out, struct subprocess *h, const char *state_dir,
		   const struct plan_input *in, struct errbuf *err);

/* Free *OUT, an answer that does not fit its input. ERR has the reason already. Returns -1. */
int plan_input_refuse(struct job_plan **out, struct errbuf *err);

/* Parse TEXT, which is modified; OUT->request points into it. */
int plan_input_parse(struct plan_input *out, char *text, struct errbuf *err);

#endif
