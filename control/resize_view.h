/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_RESIZE_VIEW_H
#define NODEOS_CONTROL_RESIZE_VIEW_H

#include "control/owned.h"
#include "control/protocol.h"
#include "report/node_state.h"

/*
 * Snapshot of the host for the change of a live container. The ledger stays locked as long as the
 * snapshot exists.
 */
struct resize_view {
	/* ASK, UID and CGROUP are set before resize_view_open() */
	const struct ask *ask;
	uid_t uid; /* the asking user; 0: root, until resize_lock() sets the container's owner */
	const char *cgroup; /* cgroup of the asking process; "": unknown */
	struct node_state s;
	struct ledger *lock;
	struct owned o;
	/*
	 * inode of the directory of O's plan, from the first snapshot on: by this inode, later
	 * snapshots find the same container even if another step has a container of the same name
	 */
	uint64_t inode;
	/*
	 * why the site forbids this user to change CPUs or memory nodes; "" if the site allows it
	 */
	struct errbuf no_cpus, no_mems;
	struct request request;
	unsigned index; /* index of the container in REQUEST */
	struct idset job_cpus, job_mems;
	/* CPUs that the plan divides: the job's, or the CPUs that Slurm gave the step */
	struct idset whole;
};

/*
 * Take the snapshot when no step of the job is being launched, so that all ranks are placed and
 * have begun. Returns 0, or -1 with the reason and the ledger closed.
 */
int resize_view_open(struct resize_view *v, struct errbuf *err);
void resize_view_close(struct resize_view *v);

/*
 * Return whether a rank of S is placed, but has not begun. Until its exec, a rank is a copy of
 * slurmstepd, which binds itself as planned and fails with other CPUs. CGROUP_FD is the root of
 * cgroup v2.
 */
bool resize_view_has_unbegun(const struct ledger_step *s, int cgroup_fd);

/* Get the CPUs of the job's other containers, in the job's plan and in its steps' plans. */
void resize_view_held(struct idset *out, const struct resize_view *v);

/* Get the CPUs outside of all containers, which a step without containers has (launch/choose.c). */
void resize_view_left(struct idset *out, const struct resize_view *v);

/*
 * Take the lock for changes of one user's live containers. To move pages or end ranks takes longer
 * than the ledger may be locked; other users do not wait for this lock. If V->uid is root, V->uid
 * is set to the container's owner. Returns a descriptor, or -1 with the reason.
 */
int resize_lock(struct resize_view *v, const struct conf *conf, struct errbuf *err);

/* Release the lock and notify watchers, even after a failure: something may have changed. */
void resize_unlock(int lock, const struct conf *conf);

#endif
