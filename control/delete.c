/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/delete.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/monotonic.h"
#include "container/isolator.h"
#include "container/step_id.h"
#include "control/resize_ranks.h"
#include "control/resize_report.h"
#include "control/resize_view.h"

#define KILLED " (its ranks were killed, but the container stays: delete it again)"
#define KILL_MS 15000 /* milliseconds in which killed ranks must end */

/* The progress of a deletion. */
struct deletion {
	bool killed; /* the ranks have been killed, as requested */
	bool done; /* the ledger records the deletion */
};

/* Return the number of ranks that have a process. STEP gets the step of the first such rank. */
static unsigned count_live(const struct rank_group *g, int cgroup_fd, char step[16])
{
	char path[RANK_PATH_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < g->n; i++) {
		rank_path(path, g->moved[i].step, g->moved[i].rank);
		if (!cgroup_is_empty(cgroup_fd, path) && n++ == 0)
			step_id_format(g->moved[i].step->step_id, step);
	}
	return n;
}

/*
 * Kill all processes in the cgroups of the ranks, including those that are forked meanwhile
 * (cgroup.kill).
 */
static void delete_kill_all(const struct rank_group *g, int cgroup_fd)
{
	char path[RANK_PATH_MAX];
	struct errbuf ignored;

	for (unsigned i = 0; i < g->n; i++) {
		rank_path(path, g->moved[i].step, g->moved[i].rank);
		cgroup_write(cgroup_fd, path, "cgroup.kill", "1", &ignored);
	}
}

/*
 * Refuse to delete a step container, which ends with its step. If several steps have a container of
 * this name, list the steps.
 */
static int refuse_step_container(const struct resize_view *v, struct errbuf *err)
{
	char steps[OWNED_STEPS_MAX], step[16];

	if (owned_list_steps(steps, v->o.job, v->o.container->name) > 1)
		return errprintf(err,
				 "container %s belongs only to its step and ends with it: scancel "
				 "that step (%s)",
				 v->o.container->name, steps);
	step_id_format(v->o.own->step_id, step);
	return errprintf(
		err,
		"container %s belongs only to step %s and ends with it: scancel %u.%s ends both",
		v->o.container->name, step, v->o.job->job_id, step);
}

/* Returns 0 if the container is empty, 1 while killed ranks end, or -1 with the reason. */
static int check_empty(const struct resize_view *v, struct deletion *d, bool late,
		       struct errbuf *err)
{
	const char *name = v->o.container->name;
	struct rank_group in = { .n = 0 };
	char step[16];
	unsigned live;
	int rc = 0;

	if (v->o.own)
		return refuse_step_container(v, err);
	if (rank_group_collect(&in, v->o.job, NULL, name, err) < 0)
		return -1;
	live = count_live(&in, v->s.cgroup_fd, step);
	if (live && !v->ask->kill) {
		rc = errprintf(err,
			       "container %s has %u rank%s here, of step %s: end its processes "
			       "first (scancel %u.%s), or use --kill",
			       name, live, live == 1 ? "" : "s", step, v->o.job->job_id, step);
	} else if (live && late) {
		rc = errprintf(err,
			       "%u killed rank%s of container %s, of step %s, did not end in %d "
			       "seconds (waiting for a device?): the container stays",
			       live, live == 1 ? "" : "s", name, step, KILL_MS / 1000);
	} else if (live && !d->killed && ledger_write(v->lock, v->o.job, err) < 0) {
		/*
		 * write the unchanged entry first, so that no rank is killed if the ledger cannot
		 * be written
		 */
		rc = -1;
	} else if (live) {
		delete_kill_all(&in, v->s.cgroup_fd);
		d->killed = true;
		rc = 1;
	}
	rank_group_free(&in);
	return rc;
}

/*
 * Wait until the container is empty; then the ledger is open. Returns 0, or -1 with the ledger
 * closed.
 */
static int open_empty(struct resize_view *v, struct deletion *d, struct errbuf *err)
{
	const struct timespec pause = { 0, 100000000 };
	long start = monotonic_ms();
	int rc;

	for (;;) {
		if (resize_view_open(v, err) < 0)
			return d->killed ? errappend(err, KILLED) : -1;
		rc = check_empty(v, d, monotonic_ms() - start > KILL_MS, err);
		if (rc == 0)
			return 0;
		resize_view_close(v);
		if (rc < 0)
			return -1;
		nanosleep(&pause, NULL);
	}
}

static int take_off(FILE *out, struct resize_view *v, struct deletion *d, struct errbuf *err)
{
	static const struct mapped nothing;
	static const struct idset none;
	struct planned_container *entry = v->o.container;
	const struct planned_container before = *entry;
	struct planned_container after = { .deleted = true };
	struct rank_group gone = { .n = 0 }, rest = { .n = 0 };
	struct bind_time limit;
	struct resize_told t = { .job_id = v->o.job->job_id,
				 .before = &before,
				 .after = &after,
				 .mems_gone = &none,
				 .had = &nothing,
				 .left = &nothing };
	int rc;

	strcpy(after.name, before.name);
	resize_view_left(&rest.before, v);
	*entry = after;
	resize_view_left(&rest.after, v);
	if (rank_group_collect(&rest, v->o.job, NULL, LEDGER_REST, err) < 0 ||
	    rank_group_renew(&rest, v->o.plan, err) < 0 ||
	    ledger_write(v->lock, v->o.job, err) < 0) {
		rank_group_free(&rest);
		if (d->killed)
			errappend(err, KILLED);
		return -1;
	}
	d->done = true;
	/* no container has these CPUs any more, so other ranks may get them */
	bind_time_start(&limit, v->s.conf.helper_timeout);
	rc = rank_group_bind(&rest, v->s.cgroup_fd, &limit, err);
	if (rc < 0) {
		bind_time_tell(&limit, err);
		errwrap(err,
			"container %s is deleted, but ranks outside of containers did not get its "
			"CPUs",
			before.name);
	} else if (ledger_write(v->lock, v->o.job, err) < 0) {
		errwrap(err,
			"container %s is deleted and ranks outside of containers have its CPUs, "
			"but the "
			"ledger could not be written",
			before.name);
		rc = -1;
	}
	if (rc == 0)
		rc = resize_told_ranks(&t, &gone, &rest, err);
	if (rc == 0)
		resize_tell(out, &t, v->ask->json);
	resize_told_free(&t);
	rank_group_free(&rest);
	return rc;
}

int delete_container(FILE *out, const struct ask *a, uid_t uid, const char *cgroup,
		     struct errbuf *err)
{
	struct resize_view *v = calloc(1, sizeof(*v));
	struct deletion d = { .killed = false };
	struct conf conf;
	int lock, rc = -1;

	if (!v)
		return errprintf(err, "out of memory");
	*v = (struct resize_view){ .ask = a, .uid = uid, .cgroup = cgroup };
	v->s.cgroup_fd = -1;
	lock = conf_load(&conf, NODEOS_CONF_PATH, 0, err) < 0 ? -1 : resize_lock(v, &conf, err);
	if (lock >= 0 && open_empty(v, &d, err) == 0) {
		uint64_t inode = v->o.inode;
		unsigned index = v->index;

		rc = take_off(out, v, &d, err);
		resize_view_close(v);
		/*
		 * the ledger is closed here, because a device may take long; a container that was
		 * not deleted keeps its buffer
		 */
		if (d.done)
			isolators_release(conf.state_dir, inode, (int)index);
	}
	if (lock >= 0)
		resize_unlock(lock, &conf);
	free(v);
	return rc;
}
