/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_RESIZE_VIEW_H
#define NODEOS_CONTROL_RESIZE_VIEW_H

#include "control/owned.h"
#include "control/protocol.h"
#include "report/node_state.h"

/* What one look at the node gives to who changes a live container: the ledger stays open, and
 * nobody else changes it. */
struct resize_view {
	/* to be filled in by the caller, as UID: who asks, 0 for anybody's containers */
	const struct ask *ask;
	uid_t uid;
	const char *cgroup; /* and this: the one of who asks; "": not known */
	struct node_state s;
	struct ledger *lock;
	struct owned o;
	/* of the plan of O once it was found: the next look is for the same one, though another
	 * step may have brought one of its name */
	uint64_t inode;
	/* why the site does not let this user change CPUs, or memory nodes; "": it does */
	struct errbuf no_cpus, no_mems;
	struct request request;
	unsigned index; /* of the container in it */
	struct idset job_cpus, job_mems;
	/* CPUs that the plan divides: the job's, or what Slurm gave the step */
	struct idset whole;
};

/* Wait until no step of the job is being launched, whose ranks are not placed yet, or have not
 * begun. On failure the ledger is closed. */
int resize_view_open(struct resize_view *v, struct errbuf *err);
void resize_view_close(struct resize_view *v);

/* CPUs that the job's other containers hold, of its plan and of its steps'. */
void resize_view_held(struct idset *out, const struct resize_view *v);

/* CPUs that the containers leave, as a step without one has them (launch/choose.c). */
void resize_view_left(struct idset *out, const struct resize_view *v);

/*
 * Moving pages, or ending ranks, takes longer than the ledger may be closed to others: this lock is
 * among those who change live containers of one user; nobody waits for another user. If V's UID is
 * root's, it is the owner's from here on. A descriptor, or -1.
 */
int resize_lock(struct resize_view *v, const struct conf *conf, struct errbuf *err);

/* The end of it; who watches for changes is told: also when not all was done, which may have left
 * some of it. */
void resize_unlock(int lock, const struct conf *conf);

#endif
