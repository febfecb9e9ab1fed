/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/resize_view.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/printable.h"
#include "base/proc.h"
#include "container/step_id.h"
#include "control/changes.h"
#include "control/lock.h"
#include "control/resize_ranks.h"

#define PATIENCE_MS 20000 /* milliseconds to wait for the user's lock */

void resize_view_close(struct resize_view *v)
{
	ledger_close(v->lock);
	v->lock = NULL;
	node_state_free(&v->s);
}

/*
 * the most processes to check in a rank's cgroup: a rank that has not begun has one process, and
 * perhaps sessions that joined the cgroup
 */
#define LOOKED_AT 8

struct beginning {
	unsigned seen;
	bool any;
};

static void check_rank_process(pid_t pid, void *arg)
{
	struct beginning *b = arg;
	struct process_facts p;

	if (b->any || b->seen++ >= LOOKED_AT)
		return;
	/*
	 * a user may give this name to another process, but then only the user's own container
	 * cannot be changed
	 */
	b->any = process_read_facts_of(&p, pid) == 0 && strncmp(p.comm, "slurmstepd", 10) == 0;
}

bool resize_view_has_unbegun(const struct ledger_step *s, int cgroup_fd)
{
	char path[RANK_PATH_MAX];
	struct beginning b = { .any = false };
	struct errbuf ended;

	for (unsigned i = 0; i < s->n_placed && !b.any; i++) {
		rank_path(path, s, &s->placed[i]);
		b.seen = 0;
		cgroup_each_pid(cgroup_fd, path, check_rank_process, &b, &ended);
	}
	return b.any;
}

/*
 * Returns 0; 1 with a message if a step is being launched (its ranks are not placed yet, or have
 * not begun); -1 on failure.
 */
static int check_steps(const struct resize_view *v, struct errbuf *err)
{
	char step[16];

	for (unsigned i = 0; i < v->o.job->n_steps; i++) {
		const struct ledger_step *s = &v->o.job->step[i];

		step_id_format(s->step_id, step);
		if (s->launching || resize_view_has_unbegun(s, v->s.cgroup_fd))
			return errprintf(err,
					 "step %s of the job is being launched here; try again",
					 step),
			       1;
		if (s->partition != PARTITION_MEMBER &&
		    (v->o.own ? s == v->o.own : ledger_step_in(s, v->o.container->name)))
			return errprintf(err,
					 "container %s is a partition (%s) of step %s: it can be "
					 "changed when that step has ended",
					 v->o.container->name, partition_name(s->partition), step);
	}
	return 0;
}

/* Load all live ranks of JOB. Ended ranks leave the entry when it is written next. */
static int load_ranks(struct ledger_job *job, int cgroup_fd, struct errbuf *err)
{
	for (unsigned i = 0; i < job->n_steps; i++) {
		if (ledger_step_load_ranks(&job->step[i], err) < 0)
			return -1;
		ledger_step_drop_ended(&job->step[i], cgroup_fd);
	}
	return 0;
}

/*
 * Read the snapshot. Returns 0, 1 with V closed if a step is being launched, or -1 with V closed.
 */
static int resize_view_read(struct resize_view *v, struct errbuf *err)
{
	char path[CGROUP_PATH_MAX];
	uid_t uid = v->uid == 0 ? (uid_t)-1 : v->uid;
	int rc = -1, at;

	if (node_state_lock(&v->s, uid, v->ask->job, &v->lock, err) < 0)
		return -1;
	v->s.own = uid != (uid_t)-1;
	if ((v->inode ? owned_find_again(&v->o, &v->s, v->ask->container, v->inode, err)
		      : owned_find(&v->o, &v->s, v->ask, v->cgroup, err)) < 0)
		goto out;
	v->inode = v->o.inode;
	if (load_ranks(v->o.job, v->s.cgroup_fd, err) < 0)
		goto out;
	at = request_parse(&v->request, v->o.request, err) < 0
		     ? -1
		     : request_find(&v->request, v->ask->container);
	if (at < 0 || v->request.n != v->o.plan->n) {
		errprintf(err,
			  "another version of NodeOS wrote this container's request in the ledger");
		goto out;
	}
	v->index = (unsigned)at;
	snprintf(path, sizeof(path), "%s", v->o.own ? v->o.own->cgroup : v->o.job->cgroup);
	if (cgroup_read_set(v->s.cgroup_fd, v->o.job->cgroup, "cpuset.cpus", &v->job_cpus, err) <
		    0 ||
	    cgroup_read_set(v->s.cgroup_fd, v->o.job->cgroup, "cpuset.mems.effective", &v->job_mems,
			    err) < 0 ||
	    cgroup_read_set(v->s.cgroup_fd, path, "cpuset.cpus", &v->whole, err) < 0)
		goto out;
	/* if the set is empty, the step uses all CPUs of the job */
	if (idset_empty(&v->whole))
		v->whole = v->job_cpus;
	rc = check_steps(v, err);
out:
	if (rc != 0)
		resize_view_close(v);
	return rc;
}

int resize_view_open(struct resize_view *v, struct errbuf *err)
{
	const struct timespec pause = { 0, 50000000 };
	long start = monotonic_ms();
	int rc;

	while ((rc = resize_view_read(v, err)) == 1 && monotonic_ms() - start < 10000)
		nanosleep(&pause, NULL);
	return rc == 0 ? 0 : -1;
}

void resize_view_left(struct idset *out, const struct resize_view *v)
{
	const struct ledger_job *job = v->o.job;
	struct idset held, partitions;

	idset_zero(&held);
	idset_zero(&partitions);
	job_plan_reserved(v->o.plan, &held);
	for (unsigned i = 0; i < job->n_steps; i++)
		if (job->step[i].partition != PARTITION_MEMBER)
			idset_or(&partitions, &job->step[i].partition_cpus);
	*out = v->whole;
	idset_andnot(out, &held);
	if (idset_empty(out))
		*out = v->whole;
	if (!idset_subset(out, &v->s.service.cpus))
		idset_andnot(out, &v->s.service.cpus);
	idset_andnot(out, &partitions);
	if (idset_empty(out)) {
		*out = v->job_cpus;
		idset_andnot(out, &partitions);
	}
}

void resize_view_held(struct idset *out, const struct resize_view *v)
{
	idset_zero(out);
	job_plan_reserved(v->o.job->plan, out);
	for (unsigned i = 0; i < v->o.job->n_steps; i++)
		job_plan_reserved(v->o.job->step[i].plan, out);
	idset_andnot(out, &v->o.container->reserved);
}

int resize_lock(struct resize_view *v, const struct conf *conf, struct errbuf *err)
{
	int fd;

	if (access(conf->state_dir, F_OK) < 0)
		return errprintf(err, "no container was made on this node since its boot");
	/* root takes the lock of the container's owner, so find the owner first */
	if (v->uid == 0) {
		if (resize_view_open(v, err) < 0)
			return -1;
		v->uid = v->o.job->uid;
		resize_view_close(v);
	}
	fd = lock_private(conf->state_dir, PRIVATE_LOCK_USER(v->uid), PATIENCE_MS, err);
	if (fd < 0 && errno == EAGAIN)
		errprintf(err,
			  "another change of this user's containers on this node has taken "
			  "%d seconds so far: try again later",
			  PATIENCE_MS / 1000);
	return fd;
}

void resize_unlock(int lock, const struct conf *conf)
{
	char line[PRINTABLE_LOG_MAX];
	struct errbuf why;

	close(lock);
	/* the lock is free already, so a failure to note the change only goes to the journal */
	if (changes_note(CHANGES_FILE, conf->state_dir, true, &why) < 0)
		fprintf(stderr, "nodeosd: %s\n", printable(line, sizeof(line), why.text));
}
