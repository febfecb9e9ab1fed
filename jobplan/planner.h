/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_JOBPLAN_PLANNER_H
#define NODEOS_JOBPLAN_PLANNER_H

#include "host/blocks.h"
#include "jobplan/job_plan.h"
#include "jobplan/planner_input.h"
#include "manifest/request.h"
#include "topology/machine.h"

/*
 * Make a job plan from a request: the one place where request and topology meet. Linked into the
 * helper and nodeosctl, never into the plugin. If the kernel has divided memory nodes (boot
 * parameter fgmn=), only their blocks are given, even if IN allows more.
 */
int planner_make(struct job_plan **out, const struct machine *m, const struct request *r,
		 const struct plan_input *in, struct errbuf *err);

/*
 * As planner_make(), to resize the one container of R (IN->resize is true). OUT->container[0].why
 * explains the change.
 */
int planner_resize(struct job_plan **out, const struct machine *m, const struct request *r,
		   const struct plan_input *in, struct errbuf *err);

/*
 * M is this machine. If the kernel has divided its memory nodes, set the usable bytes of these
 * nodes. Only root can read them; for other users, and on other kernels, M is unchanged. KEEP,
 * unless NULL, receives the blocks, which the caller frees.
 */
int planner_note_usable(struct machine *m, struct blocks *keep, struct errbuf *err);

/*
 * Write the kinds of this host's memory and the nodes of each to BUF: "dram 0-1, hbm 2"; "unknown"
 * if hwloc cannot read the host.
 */
void planner_describe_memory(char *buf, size_t size);

#endif
