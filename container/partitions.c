/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/partitions.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "container/outcome.h"
#include "host/workqueue.h"
#include "manifest/request.h"

static bool any_partition(const struct request *r, const struct conf *conf)
{
	struct sched_given got;

	for (unsigned i = 0; i < r->n; i++) {
		outcome_sched(&got, &r->container[i], conf, true);
		if (got.partition != PARTITION_MEMBER)
			return true;
	}
	return false;
}

bool partitions_wanted(const struct ledger_job *job, const struct conf *conf)
{
	struct request *r = malloc(sizeof(*r));
	struct errbuf ignored;
	bool wanted = !r;

	for (unsigned i = 0; i <= job->n_steps && !wanted; i++) {
		const char *text = i ? job->step[i - 1].request : job->request;

		/* a request of another release, which cannot be parsed, may ask for a partition */
		wanted = text && (request_parse(r, text, &ignored) < 0 || any_partition(r, conf));
	}
	free(r);
	return wanted;
}

static void user_path(char buf[CGROUP_PATH_MAX + 8], const struct ledger_step *s)
{
	snprintf(buf, CGROUP_PATH_MAX + 8, "%s/user", s->cgroup);
}

int partitions_disable(int root_fd, const struct ledger_job *job, struct errbuf *err)
{
	char path[CGROUP_PATH_MAX + 8];
	int rc = 0;

	for (unsigned i = 0; i < job->n_steps; i++) {
		user_path(path, &job->step[i]);
		if (job->step[i].partition != PARTITION_MEMBER && cgroup_inode(root_fd, path) &&
		    partition_switch(root_fd, path, PARTITION_MEMBER, err) < 0)
			rc = -1;
	}
	return rc;
}

static int enable_one(struct ledger *l, int root_fd, const char *path, const struct ledger_step *s,
		      struct errbuf *err)
{
	struct errbuf why;

	/* a root partition can share its CPUs with workqueues, an isolated one cannot */
	if (workqueue_leave(ledger_dir(l), &s->partition_cpus, &why) < 0 &&
	    s->partition == PARTITION_ISOLATED)
		return errprintf(err, "%s", why.text);
	return partition_make(root_fd, path, s->partition, &s->partition_cpus, err);
}

int partitions_enable(struct ledger *l, int root_fd, const struct ledger_job *job, uint64_t mine,
		      struct errbuf *err)
{
	char path[CGROUP_PATH_MAX + 8];
	struct errbuf why;
	int rc = 0;

	for (unsigned i = 0; i < job->n_steps; i++)
		if (job->step[i].launching)
			return 1;
	for (unsigned i = 0; i < job->n_steps; i++) {
		const struct ledger_step *s = &job->step[i];

		user_path(path, s);
		if (s->partition == PARTITION_MEMBER || enable_one(l, root_fd, path, s, &why) == 0)
			continue;
		errprintf(err, "step %u: %s", s->step_id, why.text);
		if (s->inode == mine)
			rc = -1;
	}
	return rc;
}

void partitions_remove(int root_fd, const struct ledger_step *s, struct idset *gone)
{
	char path[CGROUP_PATH_MAX + 8];
	struct idset none;
	struct errbuf ignored;

	if (s->partition == PARTITION_MEMBER)
		return;
	idset_or(gone, &s->partition_cpus);
	idset_zero(&none);
	/* the directory may be gone by now, or belong to another step */
	if (cgroup_inode(root_fd, s->cgroup) != s->inode)
		return;
	user_path(path, s);
	partition_switch(root_fd, path, PARTITION_MEMBER, &ignored);
	partition_set_exclusive(root_fd, path, &none, &ignored);
	partition_set_exclusive(root_fd, s->cgroup, &none, &ignored);
}

void partitions_refresh_job(int root_fd, const struct ledger_job *job)
{
	struct errbuf ignored;
	struct idset cpus;

	if (cgroup_inode(root_fd, job->cgroup) != job->inode)
		return;
	idset_zero(&cpus);
	for (unsigned i = 0; i < job->n_steps; i++)
		if (job->step[i].partition != PARTITION_MEMBER)
			idset_or(&cpus, &job->step[i].partition_cpus);
	partition_set_exclusive(root_fd, job->cgroup, &cpus, &ignored);
}

struct below {
	const char *dir;
	struct idset cpus;
};

static int add_below(const struct ledger_job *job, void *arg)
{
	struct below *b = arg;
	size_t len = strlen(b->dir);

	for (unsigned i = 0; i < job->n_steps; i++)
		if (job->step[i].partition != PARTITION_MEMBER &&
		    strncmp(job->step[i].cgroup, b->dir, len) == 0 &&
		    job->step[i].cgroup[len] == '/')
			idset_or(&b->cpus, &job->step[i].partition_cpus);
	return 0;
}

static int add_live(const struct ledger_job *job, void *arg)
{
	for (unsigned i = 0; i < job->n_steps; i++)
		if (job->step[i].partition != PARTITION_MEMBER)
			idset_or(arg, &job->step[i].partition_cpus);
	return 0;
}

int partitions_live_cpus(struct ledger *l, struct idset *out, struct errbuf *err)
{
	struct errbuf bad = { 0 };

	idset_zero(out);
	if (ledger_each(l, add_live, out, NULL, &bad, err) < 0)
		return -1;
	return *bad.text ? errprintf(err, "%s", bad.text) : 0;
}

void partitions_return_workqueues(struct ledger *l)
{
	struct errbuf ignored;
	struct idset live;

	if (workqueue_pending(ledger_dir(l)) && partitions_live_cpus(l, &live, &ignored) == 0)
		workqueue_return(ledger_dir(l), &live);
}

void partitions_refresh_above(struct ledger *l, int root_fd, const char *cgroup,
			      const struct idset *gone)
{
	char dir[CGROUP_PATH_MAX];
	struct errbuf bad, ignored;

	if (idset_empty(gone))
		return;
	/* go upwards: a directory can lose CPUs only after its subdirectories have lost them */
	snprintf(dir, sizeof(dir), "%s", cgroup);
	for (char *slash = strrchr(dir, '/'); slash; slash = strrchr(dir, '/')) {
		struct below b = { .dir = dir };
		struct idset left = *gone;

		*slash = '\0';
		idset_zero(&b.cpus);
		/* an unreadable entry is of another job, whose CPUs are not in GONE */
		if (ledger_each(l, add_below, &b, NULL, &bad, &ignored) < 0)
			return;
		idset_andnot(&left, &b.cpus);
		partition_shrink_exclusive(root_fd, dir, &left, &ignored);
	}
	partitions_return_workqueues(l);
}

/* ------------------------------------------------------ directories beside ours */

/* Read the names in PATH, which the caller frees. Returns their number, 0 if that fails. */
static int list_names(int root_fd, const char *path, struct dirent ***e)
{
	int fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int n;

	*e = NULL;
	if (fd < 0)
		return 0;
	n = scandirat(fd, ".", e, NULL, alphasort);
	close(fd);
	return n < 0 ? 0 : n;
}

enum obstacle { OBSTACLE_NONE, OBSTACLE_LEFTOVER, OBSTACLE_JOB };

/*
 * Return whether and why the directory PATH, beside the job's and with the CPUs HAS, prevents a
 * partition of CPUS. The directory of a live job does. So does the directory of an ended job that
 * has no CPUs other than CPUS: the kernel would refuse the partition (validate_change() of cpuset).
 */
static enum obstacle judge_directory(int root_fd, const char *path, const struct idset *has,
				     const struct idset *cpus)
{
	bool empty = cgroup_is_empty(root_fd, path);
	struct idset others = *has;

	if (!cgroup_inode(root_fd, path))
		return OBSTACLE_NONE; /* removed meanwhile */
	if (!empty)
		return OBSTACLE_JOB;
	idset_andnot(&others, cpus);
	return idset_empty(&others) ? OBSTACLE_LEFTOVER : OBSTACLE_NONE;
}

/*
 * Return the worst obstacle among the directories beside CGROUP. PATH gets the path of that
 * directory, "" if there is no obstacle.
 */
static enum obstacle find_obstacle(int root_fd, const char *cgroup, const struct idset *cpus,
				   char path[CGROUP_PATH_MAX + 300])
{
	const char *name = strrchr(cgroup, '/');
	enum obstacle worst = OBSTACLE_NONE, now;
	char other[CGROUP_PATH_MAX + 300];
	struct errbuf ignored;
	struct dirent **e;
	struct idset has;
	int n;

	*path = '\0';
	if (!name)
		return worst;
	snprintf(other, sizeof(other), "%.*s", (int)(name - cgroup), cgroup);
	n = list_names(root_fd, other, &e);
	for (int i = 0; i < n; i++) {
		/* a job has "job_12" (or "s…"); other directories have no cpuset.cpus */
		snprintf(other, sizeof(other), "%.*s/%s", (int)(name - cgroup), cgroup,
			 e[i]->d_name);
		if (*e[i]->d_name != '.' && strcmp(e[i]->d_name, name + 1) != 0 &&
		    cgroup_read_set(root_fd, other, "cpuset.cpus", &has, &ignored) == 0 &&
		    idset_intersects(&has, cpus)) {
			now = judge_directory(root_fd, other, &has, cpus);
			if (now > worst)
				strcpy(path, other);
			worst = now > worst ? now : worst;
		}
		free(e[i]);
	}
	free(e);
	return worst;
}

static int refuse_shared_cpus(const char *path, struct errbuf *err)
{
	return errprintf(err,
			 "another job on this node (%.100s) has some of the same CPUs "
			 "(OverSubscribe, gang scheduling or suspension)",
			 strrchr(path, '/') + 1);
}

int partitions_check_alone(int root_fd, const char *cgroup, const struct idset *cpus,
			   struct errbuf *err)
{
	char path[CGROUP_PATH_MAX + 300];

	switch (find_obstacle(root_fd, cgroup, cpus, path)) {
	case OBSTACLE_JOB:
		return refuse_shared_cpus(path, err);
	case OBSTACLE_LEFTOVER:
		return errprintf(err,
				 "the directory %.500s, left by an ended job, has only these CPUs; "
				 "an administrator may remove it",
				 path);
	default:
		return 0;
	}
}

int partitions_check_jobs(int root_fd, const char *cgroup, const struct idset *cpus,
			  struct errbuf *err)
{
	char path[CGROUP_PATH_MAX + 300];

	return find_obstacle(root_fd, cgroup, cpus, path) == OBSTACLE_JOB
		       ? refuse_shared_cpus(path, err)
		       : 0;
}

void partitions_wait_alone(int root_fd, const char *cgroup, const struct idset *cpus,
			   unsigned milliseconds)
{
	const struct timespec pause = { 0, 50000000 };
	char path[CGROUP_PATH_MAX + 300];
	long start = monotonic_ms();

	for (;;) {
		enum obstacle found = find_obstacle(root_fd, cgroup, cpus, path);
		long passed = monotonic_ms() - start;

		/* Slurm removes a directory without processes within half a second, or never */
		if (found == OBSTACLE_NONE || passed >= milliseconds ||
		    (found == OBSTACLE_LEFTOVER && passed >= 500))
			return;
		nanosleep(&pause, NULL);
	}
}
