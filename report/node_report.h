/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_REPORT_NODE_REPORT_H
#define NODEOS_REPORT_NODE_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "report/node_state.h"
#include "topology/machine.h"

/* The jobs of S and what the kernel shows of them, as text or as JSON of schema REPORT_SCHEMA; NODE
 * is its name. */
void node_report_text(FILE *f, const struct node_state *s, const char *node);
/* M: the node's machine, which other hosts draw it by; NULL: unknown */
void node_report_json(FILE *f, const struct node_state *s, const char *node,
		      const struct machine *m);

/* The plans of a job: its own, then those of its step containers; INODE is that of the directory
 * which they live as long as. */
void node_report_each_plan(const struct ledger_job *job,
			   void (*fn)(const struct job_plan *p, const char *request_text,
				      uint64_t inode, void *arg),
			   void *arg);

/* The name of a user, "?" when there is none; static. */
const char *node_report_user(uid_t uid);

#endif
