/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When the ledger is opened, the sweep removes entries and partitions of ended jobs and steps. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container/isolator.h"
#include "container/ledger_impl.h"
#include "container/partitions.h"

/* Removed partitions, whose CPUs are still exclusive CPUs of the directories above. */
struct swept {
	struct idset partition_cpus;
	char cgroup[CGROUP_PATH_MAX]; /* cgroup of a job with such steps */
};

/*
 * Return whether the unreadable entry NAME belongs to an ended job; false if its first lines are
 * damaged or name a job with another entry.
 */
static bool unread_has_ended(struct ledger *l, const char *name)
{
	struct ledger_job job;
	char expect[64];

	if (ledger_read_head(l, name, &job, NULL) < 0)
		return false;
	ledger_entry_name(expect, sizeof(expect), job.inode);
	return strcmp(expect, name) == 0 && ledger_job_has_ended(l, &job);
}

/* Remove JOB's ended steps and their partitions; if ALL, all steps and their partitions. */
static void sweep_steps(struct ledger *l, struct ledger_job *job, bool all, struct swept *swept)
{
	struct idset gone;

	idset_zero(&gone);
	for (unsigned i = job->n_steps; i-- > 0;)
		if (all || ledger_step_has_ended(l, &job->step[i])) {
			isolators_drop(l->cgroup_fd, &job->step[i], &gone);
			ledger_job_del_step(job, job->step[i].inode);
		}
	if (idset_empty(&gone))
		return;
	partitions_refresh_job(l->cgroup_fd, job);
	idset_or(&swept->partition_cpus, &gone);
	strcpy(swept->cgroup, job->cgroup);
}

/* Remove ended steps from the entry NAME. */
static void sweep_ended_steps(struct ledger *l, const char *name, struct swept *swept)
{
	struct ledger_job *job = NULL;
	struct errbuf ignored;

	if (ledger_read_entry(l, name, false, &job, &ignored) < 0)
		return;
	sweep_steps(l, job, false, swept);
	ledger_write(l, job, &ignored);
	/* a step may have died while launching, when all partitions of the job are disabled */
	partitions_enable(l, l->cgroup_fd, job, 0, &ignored);
	ledger_job_free(job);
}

static void sweep_one(struct ledger *l, const char *name, void *arg)
{
	struct ledger_job *job = NULL;
	struct swept *swept = arg;
	struct errbuf ignored;
	bool any_ended = false;
	char expect[64];

	/*
	 * An unreadable entry stays as long as its job lives, since it may protect the job's
	 * resources. Only steps of this job fail because of the entry.
	 */
	if (ledger_read_entry(l, name, true, &job, &ignored) < 0) {
		if (unread_has_ended(l, name))
			unlinkat(l->dir_fd, name, 0);
		return;
	}
	ledger_entry_name(expect, sizeof(expect), job->inode);
	if (strcmp(expect, name) == 0 && ledger_job_has_ended(l, job)) {
		sweep_steps(l, job, true, swept);
		unlinkat(l->dir_fd, name, 0);
		ledger_job_free(job);
		return;
	}
	for (unsigned i = 0; i < job->n_steps && !any_ended; i++)
		any_ended = ledger_step_has_ended(l, &job->step[i]);
	ledger_job_free(job);
	if (any_ended)
		sweep_ended_steps(l, name, swept);
}

int ledger_open(struct ledger **out, const char *state_dir, int cgroup_fd, unsigned timeout,
		struct errbuf *err)
{
	struct swept swept = { .cgroup = "" };
	struct ledger *l;

	if (ledger_lock(&l, state_dir, cgroup_fd, timeout, err) < 0)
		return -1;
	if (ledger_each_name(l, sweep_one, &swept, err) < 0) {
		errwrap(err, "%s", state_dir);
		ledger_close(l);
		return -1;
	}
	partitions_refresh_above(l, cgroup_fd, swept.cgroup, &swept.partition_cpus);
	partitions_return_workqueues(l); /* a process that was killed may have left this undone */
	*out = l;
	return 0;
}
