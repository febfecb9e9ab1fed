/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "container/partitions.h"
#include "launch/step_impl.h"
#include "serviceos/quiet.h"

/* The open ledger and the job's entry, while a launch begins or ends. */
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

static int partition_turn_begin(struct launch *a, uint32_t job_id, uid_t uid, uint32_t step_id,
				struct errbuf *err)
{
	struct ledger_step *mine;

	if (!conf_allows_any_partition(&a->conf) &&
	    (!a->job || !partitions_wanted(a->job, &a->conf)))
		return 0;
	if (!a->job)
		a->job = ledger_job_new(&a->place, job_id, uid);
	mine = a->job ? ledger_job_step(a->job, a->place.step_inode) : NULL;
	if (!mine && a->job)
		mine = ledger_job_add_step(a->job);
	if (!mine)
		return errprintf(err, "out of memory");
	mine->inode = a->place.step_inode;
	mine->step_id = step_id;
	mine->launching = true;
	snprintf(mine->cgroup, sizeof(mine->cgroup), "%s", a->place.step);
	/*
	 * the places of the step are unknown so far: record "none", so that no container counts as
	 * shared
	 */
	if (ledger_step_set_places(mine, CHOICE_NONE) < 0)
		return errprintf(err, "out of memory");
	if (ledger_write(a->l, a->job, err) < 0)
		return -1;
	partitions_disable(a->root_fd, a->job, err);
	return 1;
}

int step_launch_begin(const char *conf_path, uint32_t job_id, uid_t uid, uint32_t step_id,
		      struct errbuf *err)
{
	struct launch a;
	int rc = launch_open(&a, conf_path, err);

	if (rc == 0)
		rc = partition_turn_begin(&a, job_id, uid, step_id, err);
	launch_close(&a);
	return rc;
}

int step_quiet(struct ledger *l, uint32_t words, struct errbuf *err)
{
	struct idset live;
	int dir = ledger_dir(l), root, rc;

	if (!words && faccessat(dir, QUIET_FILE, F_OK, 0) < 0)
		return 0;
	root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return errprintf(err, "/: %s", strerror(errno));
	rc = partitions_live_cpus(l, &live, err);
	if (rc == 0)
		rc = words ? quiet_claim(root, dir, words, &live, err)
			   : quiet_return(root, dir, &live, err);
	close(root);
	return rc;
}

/* Note the CPUs of kernel threads before the step becomes a partition. */
static void note_threads(const struct launch *a, struct errbuf *err)
{
	int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (root < 0) {
		errprintf(err, "/: %s", strerror(errno));
		return;
	}
	quiet_note(root, ledger_dir(a->l), a->conf.partition_quiet, err);
	close(root);
}

/*
 * Returns 2 if this step's partition must wait for another step that is launching. NOTED: an
 * earlier call has noted the CPUs of kernel threads.
 */
static int partition_turn_end(struct launch *a, bool *noted, struct errbuf *err)
{
	struct ledger_step *mine = a->job ? ledger_job_step(a->job, a->place.step_inode) : NULL;
	uint64_t inode = a->place.step_inode;
	bool is_partition = mine && mine->partition != PARTITION_MEMBER;
	int rc = 0;

	if (!mine)
		return 0;
	if (mine->launching) {
		mine->launching = false;
		if (!mine->ranks)
			ledger_job_del_step(a->job, inode);
		if (!ledger_job_is_empty(a->job))
			rc = ledger_write(a->l, a->job, err);
		else
			rc = ledger_remove(a->l, a->job->inode, err);
	}
	/* if these settings fail, the partition is only less quiet, and ERR says so */
	if (rc == 0 && is_partition && a->conf.partition_quiet && !*noted) {
		*noted = true;
		note_threads(a, err);
	}
	if (rc == 0)
		rc = partitions_enable(a->l, a->root_fd, a->job, inode, err);
	if (rc == 0 && is_partition && a->conf.partition_quiet)
		step_quiet(a->l, a->conf.partition_quiet, err);
	return rc == 1 ? (is_partition ? 2 : 0) : rc;
}

int step_launch_end(const char *conf_path, struct errbuf *err)
{
	const struct timespec pause = { 0, 50000000 };
	unsigned failures = 0;
	bool noted = false;
	struct launch a;
	int rc;

	for (unsigned i = 0;; i++) {
		rc = launch_open(&a, conf_path, err);
		if (rc == 0)
			rc = partition_turn_end(&a, &noted, err);
		launch_close(&a);
		if (rc == 0)
			return 0;
		/*
		 * the job's other partitions wait for this step, so try again if another process
		 * holds the ledger's lock for long
		 */
		if (rc < 0 && ++failures == 3)
			return -1;
		if (rc == 2 && i >= a.conf.helper_timeout * 20)
			return errprintf(err, "another step of the job is still being launched: "
					      "this step becomes a partition afterwards"),
			       1;
		nanosleep(&pause, NULL);
	}
}
