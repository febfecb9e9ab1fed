/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_PLANNER_H
#define NODEOS_CONTAINER_PLANNER_H

#include "container/job_plan.h"
#include "container/planner_input.h"
#include "host/blocks.h"
#include "manifest/request.h"
#include "topology/machine.h"

/*
 * From a request to a job_plan by the planner: the one place where request
 * and topology meet. Linked into the helper and nodeosctl, never into the plugin.
 * Of divided memory nodes (fgmn=) only the blocks are given, whatever IN allows.
 */
int planner_make(struct job_plan **out, const struct machine *m, const struct request *r,
		 const struct plan_input *in, struct errbuf *err);

/*
 * The same for one container that is to be resized: IN->resize, and R of it alone.
 * OUT->container[0].why tells what changes.
 */
int planner_resize(struct job_plan **out, const struct machine *m, const struct request *r,
		   const struct plan_input *in, struct errbuf *err);

/*
 * M is this machine: note how much of its memory nodes can be used, where the kernel has divided
 * them. Only root may read that; for others, and on other kernels, nothing happens. KEEP, unless
 * NULL, is what was read, to be freed.
 */
int planner_note_usable(struct machine *m, struct blocks *keep, struct errbuf *err);

#endif
