/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_REPORT_NODE_STATE_H
#define NODEOS_REPORT_NODE_STATE_H

#include <stdbool.h>

#include "container/ledger.h"
#include "host/blocks.h"
#include "host/conf.h"
#include "serviceos/state.h"

/*
 * This node as the ledger and the kernel show it, for report and list. Only root can read the
 * ledger.
 */
struct node_state {
	struct conf conf;
	int cgroup_fd;
	struct idset node_cpus; /* the CPUs that cgroups may use */
	struct service_set service; /* empty sets: the node has no ServiceOS */
	struct blocks blocks;
	unsigned n_jobs;
	struct ledger_job **job;
	bool own; /* JOB has the jobs of one user only */
	struct errbuf bad; /* why a ledger entry is unreadable; "": all are readable */
};

int node_state_load(struct node_state *out, struct errbuf *err);

/*
 * Load the jobs of UID ((uid_t)-1: of every user) with the number JOB (0: any), and lock the ledger
 * until ledger_close(*LOCK): launches wait. *LOCK is NULL if no container was made since boot.
 */
int node_state_lock(struct node_state *out, uid_t uid, unsigned long job, struct ledger **lock,
		    struct errbuf *err);

/*
 * Load the jobs of UID (0: of every user) with the number JOB (0: any) without the lock, for
 * queries of users.
 */
int node_state_look(struct node_state *out, uid_t uid, unsigned long job, struct errbuf *err);

void node_state_free(struct node_state *s);

/* Drop all jobs except those of UID ((uid_t)-1: of every user) with the number JOB (0: any). */
void node_state_keep(struct node_state *s, uid_t uid, unsigned long job);

/* A process as the kernel shows it. */
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

/* Does the job have every CPU of the node except the ServiceOS's? */
bool node_state_alone(const struct node_state *s, const struct ledger_job *job);

#endif
