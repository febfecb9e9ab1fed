/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_JOB_PLAN_CHECK_H
#define NODEOS_CONTAINER_JOB_PLAN_CHECK_H

#include "container/job_plan.h"
#include "container/planner_input.h"
#include "host/blocks.h"

/*
 * Is P a plan that the planner can have made of IN and its request R? The helper has its user's
 * rights, so root believes of its answer what is checked here: the containers of R in R's order, as
 * large as asked, disjoint, inside of IN's CPUs and memory nodes; cores that lie in IN's; memory
 * nodes that are confined where the planner confines them, as many as asked, and with a size no
 * more than it needs, as far as B (of ROOT, see blocks.h) has sizes. In a resize the memory nodes
 * are what the container has, some of these, or these and more.
 * Not known without the machine: cores that are cut wrongly, memory nodes that others are nearer
 * than, kinds, "shared". These change what the user's own job has and reports.
 * 0, or -1 with the reason.
 */
int job_plan_check(const struct job_plan *p, const struct request *r, const struct plan_input *in,
		   const struct blocks *b, const char *root, struct errbuf *err);

#endif
