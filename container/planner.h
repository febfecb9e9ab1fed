/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_PLANNER_H
#define NODEOS_CONTAINER_PLANNER_H

#include "container/job_plan.h"
#include "container/planner_input.h"
#include "host/blocks.h"
#include "manifest/request.h"
#include "topology/machine.h"

/*
 * Make a job_plan from a request: the one place where request and topology meet. Linked into the
 * helper and nodeosctl, never into the plugin. Of memory nodes that fgmn=
 * divides only the blocks are given, even if IN allows more.
 */
int planner_make(struct job_plan **out, const struct machine *m, const struct request *r,
		 const struct plan_input *in, struct errbuf *err);

/*
 * As planner_make(), for one container to resize: IN->resize, and R of it alone.
 * OUT->container[0].why explains the change.
 */
int planner_resize(struct job_plan **out, const struct machine *m, const struct request *r,
		   const struct plan_input *in, struct errbuf *err);

/*
 * M is this machine: note the usable bytes of its memory nodes if the kernel has divided them. Only
 * root may read these; for other users, and on other kernels, M is unchanged. KEEP, unless NULL,
 * receives the blocks, for the caller to free.
 */
int planner_note_usable(struct machine *m, struct blocks *keep, struct errbuf *err);

#endif
