/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_REPORT_NODE_STATE_H
#define NODEOS_REPORT_NODE_STATE_H

#include <stdbool.h>

#include "container/ledger.h"
#include "host/blocks.h"
#include "host/conf.h"
#include "serviceos/state.h"

/*
 * This node as the ledger and the kernel show it, for report and list. For root only: other users
 * cannot read the ledger.
 */
struct node_state {
	struct conf conf;
	int cgroup_fd;
	struct idset node_cpus; /* that cgroups may use */
	struct service_set service; /* empty sets: the node has no ServiceOS */
	struct blocks blocks;
	unsigned n_jobs;
	struct ledger_job **job;
	bool own; /* only one user's jobs are here, and what others have is not known */
	struct errbuf bad; /* one unreadable ledger entry, "" when there is none */
};

int node_state_load(struct node_state *out, struct errbuf *err);

/*
 * As node_state_load(), of the jobs of UID ((uid_t)-1: of all users) with the number JOB (0: any).
 * The ledger stays locked until ledger_close(*LOCK), and launches wait. *LOCK is NULL when no
 * container was made since boot.
 */
int node_state_lock(struct node_state *out, uid_t uid, unsigned long job, struct ledger **lock,
		    struct errbuf *err);

/*
 * As node_state_lock() without the lock, for requests of users: UID's jobs (0: of all users) with
 * the number JOB (0: any).
 */
int node_state_look(struct node_state *out, uid_t uid, unsigned long job, struct errbuf *err);

void node_state_free(struct node_state *s);

/* Keep only jobs of UID ((uid_t)-1: of all users) with the number JOB (0: any). */
void node_state_keep(struct node_state *s, uid_t uid, unsigned long job);

/* What the kernel shows of one process. */
struct process_state {
	pid_t pid;
	struct idset cpus;
	struct idset mems;
	int policy;
	int priority;
};

/* Call FN for each task directory of STEP with its live processes. */
int node_state_each_task(const struct node_state *s, const struct ledger_step *step,
			 void (*fn)(const char *task, const struct process_state *p, unsigned n,
				    void *arg),
			 void *arg, struct errbuf *err);

/* Does the job hold every CPU of the node but the ServiceOS's? */
bool node_state_alone(const struct node_state *s, const struct ledger_job *job);

#endif
