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
	/* the plan lives as long as the directory with this inode, the job's or a step's */
	uint64_t inode;
	const struct planned_container *got;
};

/* Write the members "effective", "memory" and "noise". */
void node_container_json(struct json_out *j, const struct node_container *c);

/* Print the same as lines of text. */
void node_container_text(FILE *f, const struct node_container *c);

#endif
