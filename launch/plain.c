/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A step without containers on a node with blocks: NodeOS sets only its memory nodes. */
#include <stdlib.h>
#include <unistd.h>

#include "container/ledger.h"
#include "container/mems.h"
#include "host/cgroup.h"
#include "host/conf.h"
#include "launch/step.h"
#include "serviceos/state.h"

bool step_keeps_memory(const char *conf_path, struct errbuf *err)
{
	struct conf conf;

	return blocks_are_on("") && conf_load(&conf, conf_path, 0, err) == 0 &&
	       conf.unmanaged_mems != UNMANAGED_ALL;
}

struct plain {
	struct conf conf;
	struct blocks blocks;
	struct service_set service;
	struct cgroup_place place;
	int cgroup_fd;
	uint32_t job_id;
	uid_t uid;
	uint64_t job_memory;
};

/* Find the job's share of the memory nodes; the job's first step on this node chooses it. */
static int find_share(struct plain *p, struct idset *out, struct errbuf *err)
{
	struct idset cpus, mems;
	const struct mems_given given = { p->job_memory, &cpus, &mems };
	const struct mems_self self = { p->place.job_inode, p->place.step_inode };
	struct ledger_job *job = NULL;
	struct mems_in_use *held;
	struct ledger *l = NULL;
	struct errbuf bad = { 0 };
	int rc = -1;

	if (ledger_peek(p->conf.state_dir, p->place.job_inode, &job, err) < 0)
		return -1;
	if (job && !idset_empty(&job->share) &&
	    cgroup_read_set(p->cgroup_fd, p->place.job, "cpuset.mems.effective", &mems, err) == 0 &&
	    idset_subset(&job->share, &mems)) {
		*out = job->share;
		ledger_job_free(job);
		return 0;
	}
	ledger_job_free(job);
	job = NULL;
	held = malloc(sizeof(*held));
	if (!held)
		return errprintf(err, "out of memory");
	if (cgroup_read_set(p->cgroup_fd, p->place.job, "cpuset.cpus.effective", &cpus, err) == 0 &&
	    cgroup_read_set(p->cgroup_fd, p->place.job, "cpuset.mems.effective", &mems, err) == 0 &&
	    ledger_open(&l, p->conf.state_dir, p->cgroup_fd, p->conf.helper_timeout, err) == 0 &&
	    service_state_load(&p->service, p->conf.state_dir, err) >= 0 &&
	    ledger_read(l, p->place.job_inode, &job, err) == 0 &&
	    mems_read_ledger(held, l, &p->blocks, &self, &bad, err) == 0) {
		if (!job)
			job = ledger_job_new(&p->place, p->job_id, p->uid);
		/* a block of the share may have been taken offline */
		if (job && (idset_empty(&job->share) || !idset_subset(&job->share, &mems)))
			mems_share(job, &p->blocks, held, job->plan, &given, &p->service);
		/* use the share in this step even if the entry cannot be written */
		if (job && !idset_empty(&job->share))
			*out = job->share;
		rc = job ? ledger_write(l, job, err) : errprintf(err, "out of memory");
	}
	ledger_job_free(job);
	ledger_close(l);
	free(held);
	return rc;
}

static int plain_keep(struct plain *p, struct errbuf *err)
{
	struct idset share = p->blocks.homes;
	char user[CGROUP_PATH_MAX + 8];
	struct errbuf more;
	int rc;

	/*
	 * if the share is unknown, confine the step to homes (what blocks leave of each physical
	 * node): there it can run and uses no block of another job
	 */
	rc = find_share(p, &share, err);
	snprintf(user, sizeof(user), "%s/user", p->place.step);
	if (mems_confine(&p->blocks, p->cgroup_fd, user, &share, false, &more) < 0)
		return rc < 0 ? -1 : errcopy(err, &more);
	return rc;
}

/*
 * Confine the directory of step_extern itself, since Slurm writes the cpuset of "user" later. The
 * job's plan is not known yet, and once a user's process is in the directory no write is safe
 * (cgroup_write_mems()). So until the job ends the directory has homes, which belong to no
 * container.
 */
static int keep_extern(struct plain *p, struct errbuf *err)
{
	char user[CGROUP_PATH_MAX + 8];

	snprintf(user, sizeof(user), "%s/user", p->place.step);
	if (!cgroup_is_empty(p->cgroup_fd, user))
		return errprintf(err, "cgroup %s already has adopted processes", user);
	return mems_confine(&p->blocks, p->cgroup_fd, p->place.step, &p->blocks.homes, false, err);
}

static int with_place(const char *conf_path, struct plain *p,
		      int (*fn)(struct plain *p, struct errbuf *err), struct errbuf *err)
{
	int rc = -1;

	p->cgroup_fd = cgroup_open_root(NULL, err);
	if (p->cgroup_fd < 0)
		return -1;
	/* slurmstepd's cgroup belongs to the same step as those of its ranks */
	if (conf_load(&p->conf, conf_path, 0, err) == 0 &&
	    blocks_load(&p->blocks, p->conf.state_dir, "", err) == 0 && p->blocks.on)
		rc = cgroup_find_place(&p->place, p->cgroup_fd, "/proc", getpid(), err) < 0
			     ? -1
			     : fn(p, err);
	blocks_free(&p->blocks);
	close(p->cgroup_fd);
	return rc;
}

int step_keep_memory(const char *conf_path, uint32_t job_id, uid_t uid, uint64_t job_memory,
		     struct errbuf *err)
{
	struct plain p = { .job_id = job_id, .uid = uid, .job_memory = job_memory };

	return with_place(conf_path, &p, plain_keep, err);
}

int step_keep_extern(const char *conf_path, struct errbuf *err)
{
	struct plain p = { .job_id = 0 };

	return with_place(conf_path, &p, keep_extern, err);
}
