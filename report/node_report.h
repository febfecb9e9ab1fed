/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_REPORT_NODE_REPORT_H
#define NODEOS_REPORT_NODE_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "report/node_state.h"
#include "topology/machine.h"

/* Print the jobs of S, as the ledger and the kernel show them, as text or as JSON of schema
 * REPORT_SCHEMA; NODE is the node's name. */
void node_report_text(FILE *f, const struct node_state *s, const char *node);
/* M: the node's machine, so that another host can draw the report; NULL: unknown */
void node_report_json(FILE *f, const struct node_state *s, const char *node,
		      const struct machine *m);

/*
 * Call FN for the plans of a job: its own, then those of its step containers. A plan lives as long
 * as the cgroup directory with the inode INODE.
 */
void node_report_each_plan(const struct ledger_job *job,
			   void (*fn)(const struct job_plan *p, const char *request_text,
				      uint64_t inode, void *arg),
			   void *arg);

/* The name of the user UID, or "?" if it has none. The next call overwrites it. */
const char *node_report_user(uid_t uid);

#endif
