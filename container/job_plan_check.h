/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_JOB_PLAN_CHECK_H
#define NODEOS_CONTAINER_JOB_PLAN_CHECK_H

#include "container/job_plan.h"
#include "container/planner_input.h"
#include "host/blocks.h"

/*
 * Can the planner have made P from IN and its request R? The helper has its user's rights, so root
 * relies only on what is checked here: the containers of R in R's order, as large as asked,
 * disjoint, inside of IN's CPUs and memory nodes; cores inside of IN's; memory nodes confined where
 * the planner confines them, and as many as asked; for a size, no more nodes than it needs, if B
 * (of ROOT, see blocks.h) knows sizes. In a resize, the memory nodes are those of the container,
 * some of them, or these and more.
 *
 * Without the machine, root cannot check the division into cores, whether memory nodes are the
 * nearest, kinds, and "shared". Errors in these change only what the user's own job has and
 * reports.
 *
 * Returns 0, or -1 with the reason.
 */
int job_plan_check(const struct job_plan *p, const struct request *r, const struct plan_input *in,
		   const struct blocks *b, const char *root, struct errbuf *err);

#endif
