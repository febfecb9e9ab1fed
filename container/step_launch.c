/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "container/fence.h"
#include "container/step_shared.h"

/* What both ends of a launch need: the ledger open, and the job's entry. */
struct launch {
	struct conf conf;
	struct cgroup_place place;
	int root_fd;
	struct ledger *l;
	struct ledger_job *job;
};

static void launch_close(struct launch *a)
{
	ledger_job_free(a->job);
	ledger_close(a->l);
	if (a->root_fd >= 0)
		close(a->root_fd);
}

static int launch_open(struct launch *a, const char *conf_path, struct errbuf *err)
{
	memset(a, 0, sizeof(*a));
	a->root_fd = -1;
	if (conf_load(&a->conf, conf_path, 0, err) < 0)
		return -1;
	a->root_fd = cgroup_open_root(NULL, err);
	if (a->root_fd < 0 || cgroup_find_place(&a->place, a->root_fd, "/proc", getpid(), err) < 0)
		return -1;
	if (ledger_open(&a->l, a->conf.state_dir, a->root_fd, a->conf.helper_timeout, err) < 0)
		return -1;
	return ledger_read(a->l, a->place.job_inode, &a->job, err);
}

static int begin(struct launch *a, uint32_t step_id, struct errbuf *err)
{
	struct ledger_step *mine;

	if (!a->job || !fence_wanted(a->job))
		return 0;
	mine = ledger_job_step(a->job, a->place.step_inode);
	if (!mine)
		mine = ledger_job_add_step(a->job);
	if (!mine)
		return errprintf(err, "out of memory");
	mine->inode = a->place.step_inode;
	mine->step_id = step_id;
	mine->launching = true;
	snprintf(mine->cgroup, sizeof(mine->cgroup), "%s", a->place.step);
	/* until it is known where its ranks are: with nobody who divides anything */
	snprintf(mine->places, sizeof(mine->places), "%s", CHOICE_NONE);
	if (ledger_write(a->l, a->job, err) < 0 || fence_lower(a->root_fd, a->job, err) < 0)
		return -1;
	return 1;
}

int step_launch_begin(const char *conf_path, uint32_t step_id, struct errbuf *err)
{
	struct launch a;
	int rc = launch_open(&a, conf_path, err);

	if (rc == 0)
		rc = begin(&a, step_id, err);
	launch_close(&a);
	return rc;
}

int step_launch_end(const char *conf_path, struct errbuf *err)
{
	const struct timespec pause = { 0, 50000000 };
	struct ledger_step *mine;
	struct launch a;
	bool wait = true;
	int rc = 0;

	/* a sibling that came when nothing was fenced may still be at its binding */
	for (int i = 0; wait && rc == 0; i++) {
		rc = launch_open(&a, conf_path, err);
		mine = rc == 0 && a.job ? ledger_job_step(a.job, a.place.step_inode) : NULL;
		wait = mine && i < 200 && fence_must_wait(a.root_fd, a.job);
		if (mine && !wait) {
			uint64_t inode = mine->inode;

			mine->launching = false;
			if (!mine->ranks)
				ledger_job_del_step(a.job, inode);
			rc = ledger_write(a.l, a.job, err);
			if (rc == 0)
				rc = fence_raise(a.root_fd, a.job, inode, err);
		}
		launch_close(&a);
		if (wait)
			nanosleep(&pause, NULL);
	}
	return rc;
}
