/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_REPORT_NODE_CONTAINER_H
#define NODEOS_REPORT_NODE_CONTAINER_H

#include <stdio.h>

#include "base/json_out.h"
#include "host/interference.h"
#include "report/node_state.h"

/*
 * A container of a node as the kernel shows it now: its processes, its nodes' memory, and
 * everything else that runs on its CPUs.
 */
struct node_container {
	const struct node_state *s;
	const struct noise *noise; /* NULL: unreadable */
	const struct ledger_job *job;
	/* inode of the cgroup directory, the job's or a step's, with which the plan ends */
	uint64_t inode;
	const struct planned_container *got;
};

/* Write the members "effective", "memory" and "noise". */
void node_container_json(struct json_out *j, const struct node_container *c);

/* Print what these members say as lines of text. */
void node_container_text(FILE *f, const struct node_container *c);

#endif
