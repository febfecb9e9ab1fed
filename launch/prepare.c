/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order of work before the first rank of a step is placed. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/subprocess.h"
#include "container/fence.h"
#include "container/hpc_reserve.h"
#include "container/ledger.h"
#include "container/mems.h"
#include "container/outcome.h"
#include "host/buffer.h"
#include "host/cgroup.h"
#include "launch/prepare_impl.h"

#define NO_RANK 0xfffffffdUL /* from here on Slurm's task numbers are none (NO_VAL) */

static int look(struct node_view *v, struct step *s, pid_t pid, struct errbuf *err)
{
	struct errbuf ignored;
	struct idset with_cpus;

	if (cgroup_find_place(&v->place, s->cgroup_fd, "/proc", pid, err) < 0 ||
	    cgroup_read_set(s->cgroup_fd, v->place.job, "cpuset.cpus", &v->job_cpus, err) < 0 ||
	    cgroup_read_set(s->cgroup_fd, v->place.user, "cpuset.cpus", &s->step_cpus, err) < 0 ||
	    cgroup_read_set(s->cgroup_fd, v->place.job, "cpuset.mems.effective", &v->job_mems,
			    err) < 0)
		return -1;
	v->rest_mems = v->job_mems;
	/* a kernel without NUMA has no such list, and one node */
	if (cgroup_mems_with_cpus(&with_cpus, &ignored) == 0)
		idset_and(&v->rest_mems, &with_cpus);
	if (idset_empty(&v->job_cpus) || idset_empty(&s->step_cpus))
		return errprintf(err, "the job's cgroup does not confine its CPUs: NodeOS needs "
				      "ConstrainCores=yes in cgroup.conf");
	snprintf(s->user, sizeof(s->user), "%s", v->place.user);
	s->job_inode = v->place.job_inode;
	s->step_inode = v->place.step_inode;
	return 0;
}

/*
 * The highest N of the "task_N" in a step's directory. Slurm 22.05 makes a rank's directory twice,
 * by its number in the whole step (jobacct_gather) and by that on the node (task/cgroup), and
 * leaves it in the latter.
 */
static unsigned long highest_task(int root_fd, const char *user)
{
	int fd = openat(root_fd, user, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	unsigned long highest = 0;

	if (!dir && fd >= 0)
		close(fd);
	for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
		unsigned long n =
			strncmp(e->d_name, "task_", 5) == 0 ? strtoul(e->d_name + 5, NULL, 10) : 0;

		if (n > highest && n < NO_RANK)
			highest = n;
	}
	if (dir)
		closedir(dir);
	return highest;
}

/*
 * Ranks as their SLURM_PROCID tells them: in a heterogeneous step Slurm numbers each component from
 * 0 for us, but not in the name of a rank's directory. RANK is the first that was forked.
 */
static void number_ranks(const struct node_view *v, struct step *s, unsigned rank)
{
	unsigned long number = highest_task(s->cgroup_fd, v->place.user);
	unsigned long first = s->shared->rank[rank].global_rank;

	for (unsigned i = 0; number > first && i < s->in.n_ranks; i++)
		s->shared->rank[i].global_rank += (unsigned)(number - first);
}

/*
 * Without step_extern, which PrologFlags=Contain starts, Slurm removes the job's cgroup between
 * the steps of a salloc, and the job plan would be forgotten with it.
 */
static int check_contain(const struct node_view *v, const struct step *s, struct errbuf *err)
{
	char path[CGROUP_PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/step_extern", v->place.job);
	if (!s->in.job_request || cgroup_inode(s->cgroup_fd, path))
		return 0;
	return errprintf(err,
			 "containers from sbatch or salloc need PrologFlags=Contain in slurm.conf");
}

/* Every rule of the site that the request alone can break. */
static int check_request(const struct step *s, const struct request *r, struct errbuf *err)
{
	if (r->n > s->conf.max_containers)
		return errprintf(
			err, "%u containers, at most %u are allowed here (max_containers in %s)",
			r->n, s->conf.max_containers, s->in.conf_path);
	for (unsigned i = 0; i < r->n; i++)
		if (outcome_check_policy(&r->container[i], &s->conf, s->in.conf_path, err) < 0)
			return -1;
	return 0;
}

/* The user's --nodeos-container. Whether there are such containers is seen with the plan. */
static int read_choice(struct step *s, struct errbuf *err)
{
	if (!s->in.container)
		return 0;
	s->choice = malloc(sizeof(*s->choice));
	if (!s->choice)
		return errprintf(err, "out of memory");
	if (choice_parse(s->choice, s->in.container, err) < 0 ||
	    (s->in.total_ranks && choice_check_ranks(s->choice, s->in.total_ranks, err) < 0))
		return errwrap(err, "--nodeos-container");
	return 0;
}

/* The manifest in the job script: its user's process reads it, and this one believes none of it. */
static int read_script(struct step *s, struct errbuf *err)
{
	const char *argv[] = { s->in.script_path, "--request", "--name=job script", "--",
			       s->in.script,	  NULL };
	struct helper_run h = {
		.argv = argv,
		.uid = s->in.uid,
		.gid = s->in.gid,
		.extra_fd = -1,
		.join_stderr = true,
		.timeout = s->conf.helper_timeout,
		.output_max = REQUEST_TEXT_MAX,
	};
	char *text;
	int status;

	if (!s->in.script)
		return 0;
	status = helper_run(&h, &text, err);
	if (status < 0)
		return -1;
	text[strcspn(text, "\n")] = '\0';
	if (status != 0) {
		errprintf(err, "%s",
			  *text ? text : "the #NODEOS lines of the job script cannot be read");
		free(text);
		return -1;
	}
	snprintf(s->shared->script_request, sizeof(s->shared->script_request), "%s", text);
	s->in.job_request = text; /* as copied by step_new, it lives as long as the step */
	return 0;
}

/*
 * A step without the environment of its job, by srun --jobid from a login shell: its user's
 * containers are known to the ledger. Whose job it is, known_plan judges.
 */
static int read_ledger(struct step *s, struct errbuf *err)
{
	struct ledger_job *job = NULL;
	int rc = ledger_peek(s->conf.state_dir, s->job_inode, &job, err);

	if (rc == 0 && job && job->plan && job->uid == s->in.uid) {
		s->in.job_request = strdup(job->request);
		s->from_ledger = s->in.job_request != NULL;
		if (!s->from_ledger)
			rc = errprintf(err, "out of memory");
		/* its sruns are inside of the job */
		else if (!s->in.step_request)
			snprintf(s->shared->script_request, sizeof(s->shared->script_request), "%s",
				 job->request);
	}
	ledger_job_free(job);
	return rc;
}

static int read_request(struct node_view *v, struct step *s, struct errbuf *err)
{
	if (read_script(s, err) < 0)
		return -1;
	if (!s->in.job_request && s->in.planned && read_ledger(s, err) < 0)
		return -1;
	if (s->in.job_request && s->in.step_request)
		return errprintf(err, "this job has its containers from sbatch or salloc: a step "
				      "cannot bring a second manifest");
	v->request_text = s->in.job_request ? s->in.job_request : s->in.step_request;
	v->of_step = !s->in.job_request;
	if (!v->request_text)
		return 0;
	v->request = malloc(sizeof(*v->request));
	if (!v->request)
		return errprintf(err, "out of memory");
	if (request_parse(v->request, v->request_text, err) < 0)
		return errwrap(err, "the request in the environment is not valid");
	return check_request(s, v->request, err);
}

/* Only ever wider: Slurm still binds the next rank to the step's own CPUs. */
static int widen(struct step *s, const struct node_view *v, struct errbuf *err)
{
	struct idset both = s->step_cpus;

	for (unsigned i = 0; i < s->shared->n_parts; i++)
		if (s->shared->part[i].kind != STEP_NONE || s->shared->n_parts > 1)
			idset_or(&both, &s->shared->part[i].cpus);
	if (idset_equal(&both, &s->step_cpus))
		return 0;
	return cgroup_write_set(s->cgroup_fd, v->place.user, "cpuset.cpus", &both, err);
}

/* The step's directory, and with it whatever its ranks start: on a node with blocks. */
static int confine_memory(struct step *s, const struct node_view *v, struct errbuf *err)
{
	struct idset all;
	bool own = true;

	if (!s->blocks.on)
		return 0;
	idset_zero(&all);
	for (unsigned i = 0; i < s->shared->n_parts; i++) {
		const struct step_part *p = &s->shared->part[i];

		idset_or(&all, &p->mems);
		own = own && p->own_blocks;
	}
	return mems_confine(&s->blocks, s->cgroup_fd, v->place.user, &all, own, err);
}

/* Buffers are the job's memory, as Slurm counts it; with less they could never be had, whoever else
 * is on the node. */
static int check_buffers(const struct step *s, const struct node_view *v, struct errbuf *err)
{
	uint64_t all = 0;

	/* a sum of many could begin again at 0 */
	for (unsigned i = 0; v->request && i < v->request->n && all <= REQUEST_BYTES_MAX; i++)
		all += v->request->container[i].dimmap.size;
	if (!all)
		return 0;
	if (s->in.job_memory && all >= s->in.job_memory)
		return errprintf(err,
				 "buffers (dimmap) of %llu MiB do not fit in the job's memory "
				 "here, %llu MiB: ask for more (--mem), or for smaller ones",
				 (unsigned long long)(all >> 20),
				 (unsigned long long)(s->in.job_memory >> 20));
	if (!s->conf.dimmap_max && v->guarantee == GUARANTEE_ADVISORY)
		return errprintf(
			err,
			"buffers (dimmap) have no limit here: neither Slurm bounds the memory of "
			"jobs (ConstrainRAMSpace) nor dimmap_max in %s a buffer: tell the admin",
			s->in.conf_path);
	return 0;
}

/*
 * srun returns before slurmstepd comes to our exit hook: take down what step containers of this
 * job, whose ranks have all ended, still have, or the next srun of a job script would find its
 * device in use.
 */
static void release_ended(const struct step *s)
{
	char path[CGROUP_PATH_MAX + 8];
	struct ledger_job *job = NULL;
	struct errbuf ignored;

	if (ledger_peek(s->conf.state_dir, s->job_inode, &job, &ignored) < 0 || !job)
		return;
	for (unsigned i = 0; i < job->n_steps; i++) {
		const struct ledger_step *other = &job->step[i];

		snprintf(path, sizeof(path), "%s/user", other->cgroup);
		if (other->inode != s->step_inode && !other->launching && other->request &&
		    strstr(other->request, " dimmap=") && cgroup_is_empty(s->cgroup_fd, path))
			buffer_release(s->conf.state_dir, other->inode);
	}
	ledger_job_free(job);
}

/* The buffers of those containers that ranks of this step are in. They live as long as their
 * container: in the job plan, the job. */
static int make_buffers(struct step *s, const struct node_view *v, struct errbuf *err)
{
	bool swept = false;

	for (unsigned i = 0; i < s->shared->n_parts; i++) {
		struct step_part *p = &s->shared->part[i];
		int index = p->kind == STEP_NAMED ? request_find(v->request, p->container) : -1;
		struct buffer b = {
			.inode = v->of_step ? v->place.step_inode : v->place.job_inode,
			.cgroup = v->of_step ? v->place.step : v->place.job,
			.uid = s->in.uid,
			.gid = s->in.gid,
			.group = s->in.group,
			.n_groups = s->in.n_groups,
			.mems = &p->mems,
		};

		if (index < 0 || !v->request->container[index].dimmap.size)
			continue;
		if (!swept) {
			buffer_sweep(s->conf.state_dir, s->cgroup_fd);
			release_ended(s);
		}
		swept = true;
		b.index = (unsigned)index;
		b.ask = &v->request->container[index].dimmap;
		if (buffer_make(&b, &s->conf, s->in.conf_path, err) < 0)
			return errwrap(err, "container %s: dimmap", p->container);
		buffer_maker_is_me(&s->shared->maker);
		buffer_path(p->buffer, s->conf.state_dir, b.inode, b.index);
	}
	return 0;
}

static void wait_for_last_job(const struct step *s, const struct node_view *v)
{
	bool of_srun = s->in.step_id < STEP_ID_INTERACTIVE;
	struct sched_given got;

	for (unsigned i = 0; v->request && i < v->request->n; i++) {
		outcome_sched(&got, &v->request->container[i], &s->conf, true);
		if ((of_srun && v->request->container[i].partition != PARTITION_MEMBER) ||
		    got.policy == POLICY_HPC) {
			fence_wait_alone(s->cgroup_fd, v->place.job, &v->job_cpus,
					 1000 * s->conf.helper_timeout);
			return;
		}
	}
}

int step_prepare(struct step *s, unsigned rank, pid_t pid, struct errbuf *err)
{
	struct node_view v = { .request = NULL };
	int rc = -1;

	if (conf_load(&s->conf, s->in.conf_path, 0, err) < 0 ||
	    blocks_load(&s->blocks, s->conf.state_dir, "", err) < 0)
		return -1;
	if (look(&v, s, pid, err) == 0)
		number_ranks(&v, s, rank);
	else
		return -1;
	v.guarantee = mems_guarantee(&s->blocks, &s->conf, s->cgroup_fd, v.place.job);
	if (read_choice(s, err) == 0 && read_request(&v, s, err) == 0 &&
	    check_contain(&v, s, err) == 0 && check_buffers(s, &v, err) == 0) {
		wait_for_last_job(s, &v);
		if (prepare_plan_and_choose(s, &v, err) == 0 && widen(s, &v, err) == 0 &&
		    confine_memory(s, &v, err) == 0)
			rc = make_buffers(s, &v, err);
	}
	free(v.request);
	return rc;
}
