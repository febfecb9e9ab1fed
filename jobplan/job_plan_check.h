/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_JOBPLAN_JOB_PLAN_CHECK_H
#define NODEOS_JOBPLAN_JOB_PLAN_CHECK_H

#include "host/blocks.h"
#include "jobplan/job_plan.h"
#include "jobplan/planner_input.h"

/*
 * Can the planner have made P from IN and its request R? The helper has its user's rights, so root
 * relies only on what this checks: P has the containers of R in R's order, as large as requested,
 * disjoint, and inside of IN's CPUs and memory nodes; its cores are inside of IN's; memory nodes
 * are confined where the planner confines them, and as many as requested; for a size, no more nodes
 * than it needs, if B (of ROOT, see blocks.h) has their sizes. In a resize, the memory nodes are
 * those of the container, some of them, or these and more.
 *
 * Root has no machine topology here, so it cannot check the division into cores, whether memory
 * nodes are the nearest, kinds, and "shared". Errors in these affect only what the user's own job
 * has and reports.
 *
 * Returns 0, or -1 with the reason.
 */
int job_plan_check(const struct job_plan *p, const struct request *r, const struct plan_input *in,
		   const struct blocks *b, const char *root, struct errbuf *err);

#endif
