/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The work before the first rank of a step is placed, in order. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/subprocess.h"
#include "container/ledger.h"
#include "container/mems.h"
#include "container/partitions.h"
#include "host/cgroup.h"
#include "launch/prepare_impl.h"

#define NO_RANK 0xfffffffdUL /* from here on, Slurm's numbers mean no rank (NO_VAL, INFINITE) */

static int prepare_read_node(struct node_view *v, struct step *s, pid_t pid, struct errbuf *err)
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
	/* a kernel without NUMA does not have this list: all memory is one node */
	if (cgroup_mems_with_cpus(&with_cpus, &ignored) == 0)
		idset_and(&v->rest_mems, &with_cpus);
	if (idset_empty(&v->job_cpus) || idset_empty(&s->step_cpus))
		return errprintf(err, "the job's cgroup does not confine its CPUs: NodeOS needs "
				      "task/cgroup in TaskPlugin in slurm.conf and "
				      "ConstrainCores=yes in cgroup.conf (see nodeosctl features "
				      "--site)");
	snprintf(s->user, sizeof(s->user), "%s", v->place.user);
	s->job_inode = v->place.job_inode;
	s->step_inode = v->place.step_inode;
	return 0;
}

/*
 * Return the greatest N of the directories "task_N" of a step. Slurm 22.05 makes two directories
 * for a rank, one by its number in the whole step (jobacct_gather) and one by its number on the
 * node (task/cgroup), and leaves the rank in the latter.
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
 * Number ranks as in their SLURM_PROCID. In the hooks of a heterogeneous step, Slurm numbers the
 * ranks of each component from 0, but the directories have the numbers in the step. RANK, a number
 * on this node, is the rank that Slurm places first.
 */
static void number_ranks(const struct node_view *v, struct step *s, unsigned rank)
{
	unsigned long number = highest_task(s->cgroup_fd, v->place.user);
	unsigned long first = s->shared->rank[rank].global_rank;

	for (unsigned i = 0; number > first && i < s->in.n_ranks; i++)
		s->shared->rank[i].global_rank += (unsigned)(number - first);
}

/*
 * Check that PrologFlags=Contain starts step_extern. Without it, Slurm removes the job's cgroup,
 * and so the job plan, between the steps of a salloc.
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

/*
 * Check the site's rules for the request alone. Rules for the job's owner are checked when
 * containers are made (plan_round.c).
 */
static int check_request(const struct step *s, const struct request *r, struct errbuf *err)
{
	if (r->n > s->conf.max_containers)
		return errprintf(err,
				 "%u containers are requested, at most %u are allowed here "
				 "(max_containers in %s)",
				 r->n, s->conf.max_containers, s->in.conf_path);
	for (unsigned i = 0; i < r->n; i++)
		if (isolators_allowed(&r->container[i], &s->conf, s->in.conf_path, err) < 0)
			return -1;
	return 0;
}

/* Parse the user's --nodeos-container. Names are checked later, against the plan. */
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

/*
 * Read the manifest in the job script, in a process with the rights of the job's user. The output
 * is not trusted.
 */
static int read_script(struct step *s, struct errbuf *err)
{
	const char *argv[] = { s->in.script_path, "--request", "--name=job script", "--",
			       s->in.script,	  NULL };
	struct subprocess h = {
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
	status = subprocess_run(&h, &text, err);
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
	free(s->request);
	s->request = NULL;
	/* the step owns this text until its end, as it owns the copies of step_new() */
	s->in.job_request = text;
	return 0;
}

/*
 * If the step has no environment of its job (srun --jobid from a login shell), find the request in
 * the ledger. known_plan() checks the owner.
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
		/* nested sruns belong to the job and get its request */
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
		return errprintf(err, "this job got its containers from sbatch or salloc: a step "
				      "cannot bring a second manifest");
	v->request_text = s->in.job_request ? s->in.job_request : s->in.step_request;
	v->of_step = !s->in.job_request;
	if (!v->request_text)
		return 0;
	if (!s->request) {
		s->request = malloc(sizeof(*s->request));
		if (!s->request)
			return errprintf(err, "out of memory");
		if (request_parse(s->request, v->request_text, err) < 0)
			return errwrap(err, "the request in the environment is not valid");
	}
	v->request = s->request;
	return check_request(s, v->request, err);
}

/* Can this node ever give what the request asks for? */
static int prepare_check_node(const struct step *s, const struct node_view *v, struct errbuf *err)
{
	struct isolator_node node = {
		.conf = &s->conf,
		.conf_path = s->in.conf_path,
		.guarantee = v->guarantee,
		.job_memory = s->in.job_memory,
	};

	return v->request ? isolators_possible(v->request, &node, err) : 0;
}

static void wait_for_last_job(const struct step *s, const struct node_view *v)
{
	if (v->request &&
	    isolators_alone(v->request, &s->conf, s->in.step_id < STEP_ID_INTERACTIVE)) {
		long start = monotonic_ms();

		partitions_wait_alone(s->cgroup_fd, v->place.job, &v->job_cpus,
				      1000 * s->conf.helper_timeout);
		STEP_LOG(s, "wait", "waited %ld ms for other jobs on its CPUs to end",
			 monotonic_ms() - start);
	}
}

/* Set up the step before the first rank is placed. */
static int apply_to_step(struct step *s, const struct node_view *v, struct errbuf *err)
{
	struct isolator_part part[STEP_PARTS_MAX];
	struct isolator_step step;

	step_isolator_parts(&step, part, s, v);
	return isolators_step(&step, err);
}

int step_prepare(struct step *s, unsigned rank, pid_t pid, struct errbuf *err)
{
	struct node_view v = { .request = NULL };
	int rc = -1;

	if (conf_load(&s->conf, s->in.conf_path, 0, err) < 0 ||
	    blocks_load(&s->blocks, s->conf.state_dir, "", err) < 0)
		return -1;
	if (prepare_read_node(&v, s, pid, err) == 0)
		number_ranks(&v, s, rank);
	else
		return -1;
	v.guarantee = mems_guarantee(&s->blocks, &s->conf, s->cgroup_fd, v.place.job);
	if (read_choice(s, err) == 0 && read_request(&v, s, err) == 0 &&
	    check_contain(&v, s, err) == 0 && prepare_check_node(s, &v, err) == 0) {
		STEP_LOG(s, "request", "%s of %s", v.request_text ? v.request_text : "none",
			 !v.request_text  ? "its job"
			 : s->from_ledger ? "the ledger"
			 : s->in.script	  ? "the job script"
			 : v.of_step	  ? "its own options"
					  : "its job's environment");
		wait_for_last_job(s, &v);
		if (prepare_plan_and_choose(s, &v, err) == 0)
			rc = apply_to_step(s, &v, err);
	}
	return rc;
}
