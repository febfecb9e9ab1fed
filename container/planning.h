/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_PLANNING_H
#define NODEOS_CONTAINER_PLANNING_H

#include "container/node_plan.h"
#include "container/plan_input.h"
#include "container/request.h"
#include "topology/machine.h"

/*
 * From a request to a node_plan by the planner: the one place where request
 * and topology meet. Linked into the helper and nodeosctl, never into the plugin.
 */
int planning_make(struct node_plan **out, const struct machine *m, const struct request *r,
		  const struct plan_input *in, struct errbuf *err);

#endif
