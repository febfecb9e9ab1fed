/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/buffer.h"
#include "host/cgroup.h"
#include "container/fence.h"
#include "base/subprocess.h"
#include "container/hpc_reserve.h"
#include "container/ledger.h"
#include "container/outcome.h"
#include "container/planner_input.h"
#include "container/container_json.h"
#include "container/mems.h"
#include "launch/step_impl.h"

#define ROUNDS_MAX 32 /* of planning */
#define NO_RANK 0xfffffffdUL /* from here on Slurm's task numbers are none (NO_VAL) */

/* What step_prepare finds out, in one place. */
struct node_view {
	struct cgroup_place place;
	struct idset job_cpus;
	struct idset job_mems;
	struct idset rest_mems; /* of these, what ranks in no container may be bound to: none that is special */
	struct idset node_cpus;
	bool alone; /* the job holds every CPU of the node but the ServiceOS's */
	struct idset outside; /* what live containers leave to the system (hpc_room.h); known when the request takes some */
	bool any_hpc; /* among these */
	struct request *request; /* the job's or the step's; NULL: neither */
	const char *request_text;
	bool of_step; /* request is a step container's */
	enum guarantee guarantee;
	struct mems_held held;
	struct idset dirty; /* blocks with memory in them that no process of a job explains */
};

static int look(struct node_view *v, struct step *s, pid_t pid, struct errbuf *err)
{
	struct errbuf ignored;
	struct idset with_cpus;

	if (cgroup_find_place(&v->place, s->cgroup_fd, "/proc", pid, err) < 0 ||
	    cgroup_read_set(s->cgroup_fd, v->place.job, "cpuset.cpus", &v->job_cpus, err) < 0 ||
	    cgroup_read_set(s->cgroup_fd, v->place.user, "cpuset.cpus", &s->step_cpus, err) < 0 ||
	    cgroup_read_set(s->cgroup_fd, v->place.job, "cpuset.mems.effective", &v->job_mems, err) < 0)
		return -1;
	v->rest_mems = v->job_mems;
	/* a kernel without NUMA has no such list, and one node */
	if (cgroup_mems_with_cpus(&with_cpus, &ignored) == 0)
		idset_and(&v->rest_mems, &with_cpus);
	if (idset_empty(&v->job_cpus) || idset_empty(&s->step_cpus))
		return errprintf(err, "the job's cgroup does not confine its CPUs: NodeOS needs ConstrainCores=yes in cgroup.conf");
	snprintf(s->user, sizeof(s->user), "%s", v->place.user);
	s->job_inode = v->place.job_inode;
	s->step_inode = v->place.step_inode;
	return 0;
}

/*
 * The highest N of the "task_N" in a step's directory. Slurm 22.05 makes a rank's directory twice, by its number in the whole
 * step (jobacct_gather) and by that on the node (task/cgroup), and leaves it in the latter.
 */
static unsigned long highest_task(int root_fd, const char *user)
{
	int fd = openat(root_fd, user, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	unsigned long highest = 0;

	if (!dir && fd >= 0)
		close(fd);
	for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
		unsigned long n = strncmp(e->d_name, "task_", 5) == 0 ? strtoul(e->d_name + 5, NULL, 10) : 0;

		if (n > highest && n < NO_RANK)
			highest = n;
	}
	if (dir)
		closedir(dir);
	return highest;
}

/*
 * Ranks as their SLURM_PROCID tells them: in a heterogeneous step Slurm numbers each component from 0 for us,
 * but not in the name of a rank's directory. RANK is the first that was forked.
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
	return errprintf(err, "containers from sbatch or salloc need PrologFlags=Contain in slurm.conf");
}

/* Every rule of the site that the request alone can break. */
static int check_request(const struct step *s, const struct request *r, struct errbuf *err)
{
	if (r->n > s->conf.max_containers)
		return errprintf(err, "%u containers, at most %u are allowed here (max_containers in %s)",
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
	const char *argv[] = { s->in.script_path, "--request", "--name=job script", "--", s->in.script, NULL };
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
		errprintf(err, "%s", *text ? text : "the #NODEOS lines of the job script cannot be read");
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
		return errprintf(err, "this job has its containers from sbatch or salloc: a step cannot bring a second manifest");
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

/* ---------------------------------------------------------------------- planning */

/* Memory nodes that containers to be planned may have, and which of them others have already. */
static void offer_mems(struct plan_input *in, const struct step *s, const struct node_view *v)
{
	in->mems = v->job_mems;
	in->default_mems = s->conf.default_mems;
	if (s->service.own_mems) {
		idset_andnot(&in->mems, &s->service.mems);
		/* fill_named binds every container, also to special memory if that is what it has */
		if (in->default_mems == MEMS_ALL)
			in->default_mems = MEMS_ORDINARY;
	}
	if (s->blocks.on) {
		/* a block is one job's, and clean when it gets it */
		idset_and(&in->mems, &s->blocks.nodes);
		idset_andnot(&in->mems, &v->held.containers);
		idset_andnot(&in->mems, &v->held.shares);
		idset_andnot(&in->mems, &v->dirty);
		in->default_mems = MEMS_ALL; /* who asks for none gets the job's share, not all that is near */
	}
	in->mems_taken = v->held.containers;
	idset_or(&in->mems_taken, &v->held.siblings);
	idset_and(&in->mems_taken, &in->mems);
}

/* The CPUs that Slurm gave to whose containers are to be planned. */
static const struct idset *given(const struct step *s, const struct node_view *v)
{
	return v->of_step ? &s->step_cpus : &v->job_cpus;
}

/* A step container may take what Slurm gave the step and no other live one in the job holds. */
static void free_for(const struct node_view *v, const struct step *s, const struct ledger_job *job,
		     struct idset *out)
{
	struct idset held;

	*out = *given(s, v);
	idset_andnot(out, &s->service.cpus); /* Slurm may not know of it (nodeosctl verify tells) */
	if (!v->of_step || !job)
		return;
	idset_zero(&held);
	for (unsigned i = 0; i < job->n_steps; i++)
		node_plan_reserved(job->step[i].plan, &held);
	idset_andnot(out, &held);
}

static int run_helper(struct node_plan **out, struct step *s, const struct node_view *v,
		      const struct plan_input *in, struct errbuf *err)
{
	const char *argv[] = { s->in.helper_path, NULL };
	struct helper_run h = {
		.argv = argv,
		.uid = s->in.uid,
		.gid = s->in.gid,
		.timeout = s->conf.helper_timeout,
		.output_max = NODE_PLAN_TEXT_MAX, /* so that a few steps' plans fit in a ledger entry */
	};
	char path[sizeof(s->conf.state_dir) + 16];
	char *text = NULL;
	char *input = plan_input_format(in);
	const char *at;
	int rc = -1;

	/* hwloc's discovery, kept since boot; without it the helper looks for itself */
	snprintf(path, sizeof(path), "%s/machine.xml", s->conf.state_dir);
	h.extra_fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	h.input = input;
	if (!input) {
		errprintf(err, "out of memory");
	} else if (helper_run(&h, &text, err) >= 0) {
		at = text;
		rc = node_plan_parse(out, &at, err);
	}
	if (rc == 0 && node_plan_check(*out, v->request, &in->cpus, &in->mems, err) < 0) {
		errwrap(err, "the planner's answer is refused");
		node_plan_free(*out);
		*out = NULL;
		rc = -1;
	}
	if (h.extra_fd >= 0)
		close(h.extra_fd);
	free(text);
	free(input);
	return rc;
}

/*
 * One core of the job stays without real-time ranks, those of its other live steps included:
 * the shell, slurmstepd and kthreads live there.
 */
static int check_realtime(const struct step *s, const struct node_view *v, const struct node_plan *p,
			  const struct ledger_job *job, struct errbuf *err)
{
	struct idset left = v->job_cpus;

	if (!realtime_take(&left, v->request, p, &s->conf))
		return 0;
	if (realtime_take_job(&left, job, s->step_inode, &s->conf, err) < 0)
		return -1;
	if (!idset_empty(&left))
		return 0;
	errprintf(err, "real-time containers would take every core of the job on this node: leave one core out of them");
	if (s->conf.hpc_fallback != POLICY_UNSET && !policy_supported(POLICY_HPC))
		errappend(err, " (policy \"hpc\" is \"%s\" on this node, whose kernel has no such class: hpc_fallback in %s)",
			  policy_name(s->conf.hpc_fallback), s->in.conf_path);
	return -1;
}

/* A CPU of the node stays outside of SCHED_HPC, real time and partitions, other jobs' containers included. */
static int check_hpc(const struct step *s, const struct node_view *v, const struct node_plan *made, struct errbuf *err)
{
	struct idset left = v->outside;
	bool any = hpc_take(&left, v->request, made, &s->conf) || v->any_hpc;

	if (!any || !idset_empty(&left))
		return 0;
	return errprintf(err, "no CPU of this node would be left outside of policy \"hpc\", real time and partitions%s: leave one out for the system",
			 v->any_hpc ? ", those of other jobs and steps included" : "");
}

static const char no_request[] =
	"the job's request is missing from this step's environment (its SLURM_SPANK_* variables were removed), and no step of the job has made its containers on this node: start steps inside the job, or use --nodeos=off";

/*
 * Check that the ledger knows the same request as the environment. Gives the plan
 * when there is one already, NULL when it has to be made.
 */
static int known_plan(const struct node_view *v, const struct step *s, const struct ledger_job *job,
		      const struct node_plan **plan, struct errbuf *err)
{
	*plan = NULL;
	if (!job || !job->plan) {
		if (!v->request && s->in.request_expected)
			return errprintf(err, "%s", no_request);
		return 0;
	}
	if (job->uid != s->in.uid)
		return errprintf(err, "the containers of this job belong to uid %u", (unsigned)job->uid);
	if (!s->in.job_request && s->in.step_request)
		return errprintf(err, "this job has its containers from sbatch or salloc: a step cannot bring a second manifest");
	if (!s->in.job_request)
		return errprintf(
			err,
			"the job's containers came while this step was launched without its environment: try again");
	if (strcmp(s->in.job_request, job->request) != 0)
		return errprintf(err, "the request in this step's environment is not the one that this job's containers were made of");
	*plan = job->plan;
	return 0;
}

/* ------------------------------------------------------------- choosing, widening */

static int fill_named(struct step_part *p, const struct step *s, const struct node_view *v,
		      const struct node_plan *plan, const struct placed *c, struct errbuf *err)
{
	const struct request_container *ask = &v->request->container[c - plan->container];
	struct outcome_node node = { .alone = v->alone, .policy_known = true, .guarantee = v->guarantee, .usable = blocks_usable(&s->blocks, &c->mems) };
	struct isolator_outcome o[OUTCOMES_MAX];
	struct sched_given got;
	unsigned n;

	p->kind = STEP_NAMED;
	snprintf(p->container, sizeof(p->container), "%s", c->name);
	p->cpus = c->cpus;
	p->mems = c->mems;
	p->bind_mems = c->confined || s->service.own_mems; /* what the system has for itself is nobody else's */
	p->sized = ask->cpus > 0;
	n = outcomes_of(o, ask, c, &s->conf, &node);
	for (unsigned i = 0; i < n; i++)
		if (o[i].outcome != OUTCOME_IGNORED && o[i].outcome > p->outcome) {
			p->outcome = o[i].outcome;
			snprintf(p->why, sizeof(p->why), "%s", o[i].reason);
		}
	p->partition = ask->partition;
	p->fence = c->reserved;
	outcome_sched(&got, ask, &s->conf, true);
	p->policy = got.policy;
	p->priority = got.priority;
	p->quantum = got.quantum;
	p->quantum_named = ask->quantum_named;
	if (!policy_supported(p->policy)) {
		if (s->conf.strict)
			return errprintf(err, "container %s: policy \"%s\": this kernel has no such scheduling class: ask for a node that has it (--constraint=" HPC_FEATURE ", where the site lists that feature), or for \"other\" (outcome: failed; strict=yes in %s)",
					 c->name, policy_name(p->policy), s->in.conf_path);
		p->policy = POLICY_UNSET;
	}
	return 0;
}

static void fill_rest(struct step_part *p, const struct step *s, const struct node_view *v,
		      const struct node_plan *plan, const struct ledger_job *job)
{
	/* a step that brought its own containers is left with what it has, not with the job's */
	const struct idset *whole = v->of_step ? &s->step_cpus : &v->job_cpus;
	struct idset left = v->rest_mems;
	struct idset held;

	p->kind = STEP_REST;
	idset_zero(&held);
	node_plan_reserved(plan, &held);
	p->cpus = *whole;
	idset_andnot(&p->cpus, &held);
	if (idset_empty(&p->cpus)) {
		p->cpus = *whole;
		p->shares_all = true;
	}
	if (!idset_subset(&p->cpus, &s->service.cpus))
		idset_andnot(&p->cpus, &s->service.cpus);
	/* a partition keeps everybody out; there is a core of the job outside of all */
	for (unsigned i = 0; i < job->n_steps; i++)
		if (job->step[i].inode != s->step_inode && job->step[i].partition != PARTITION_MEMBER)
			idset_andnot(&p->cpus, &job->step[i].fence);
	if (idset_empty(&p->cpus)) {
		p->cpus = v->job_cpus;
		for (unsigned i = 0; i < job->n_steps; i++)
			if (job->step[i].inode != s->step_inode && job->step[i].partition != PARTITION_MEMBER)
				idset_andnot(&p->cpus, &job->step[i].fence);
	}
	idset_zero(&held);
	node_plan_mems(plan, true, &held);
	if (s->service.own_mems)
		idset_or(&held, &s->service.mems);
	idset_andnot(&left, &held);
	if (idset_empty(&left) && s->service.own_mems) {
		left = v->rest_mems; /* the containers have all others */
		idset_andnot(&left, &s->service.mems);
	}
	if (!idset_empty(&held) && !idset_empty(&left)) {
		p->bind_mems = true;
		p->mems = left;
	}
}

/* --nodeos-container=NAME in a job without containers, whose steps may have some of their own. */
static int no_container(const struct ledger_job *job, const char *name, struct errbuf *err)
{
	for (unsigned i = 0; i < job->n_steps; i++)
		if (job->step[i].plan && node_plan_find(job->step[i].plan, name))
			return errprintf(err,
					 "--nodeos-container=%.64s: it is step %u's own container, made by the options of its srun: no other step can join it; sbatch and salloc make containers for all steps",
					 name, job->step[i].step_id);
	return errprintf(err, "--nodeos-container=%.64s: this job has no containers on this node",
			 name);
}

/*
 * A step that came without its job's environment and names no container; the text names those
 * there are.
 */
static void note_rest(struct step *s, const struct node_plan *plan)
{
	errprintf(&s->note,
		  "this step was started without the environment of its job and names no container: it runs on what they leave; --nodeos-container=NAME joins one:");
	for (unsigned i = 0; i < plan->n; i++)
		if (!plan->container[i].deleted)
			errappend(&s->note, " %.64s", plan->container[i].name);
}

/* The place that NAME (NULL: none named) means under PLAN (NULL: there is none). */
static int fill_part(struct step_part *p, struct step *s, const struct node_view *v,
		     const struct node_plan *plan, const struct ledger_job *job, const char *name, struct errbuf *err)
{
	const struct placed *c;

	memset(p, 0, sizeof(*p));
	p->cpus = v->job_cpus;
	p->mems = v->job_mems;
	p->kind = STEP_NONE;
	if ((name && strcmp(name, CHOICE_NONE) == 0) || (!plan && !name))
		return 0;
	if (!plan)
		return no_container(job, name, err);
	c = name ? node_plan_find(plan, name) :
	    plan->n == 1 && !plan->container[0].deleted && !s->from_ledger ? &plan->container[0] :
									      NULL;
	if (c && c->deleted)
		return errprintf(err, "container %s of this job was deleted on this node (nodeosctl delete)", name);
	if (c)
		return fill_named(p, s, v, plan, c, err);
	if (name)
		return request_no_such(v->request, name, err);
	fill_rest(p, s, v, plan, job);
	if (s->from_ledger)
		note_rest(s, plan);
	return 0;
}

/* Index of the part with P's place, P added when there is none. */
static unsigned add_part(struct step_shared *sh, const struct step_part *p)
{
	unsigned i = 0;

	while (i < sh->n_parts && strcmp(step_part_word(&sh->part[i]), step_part_word(p)) != 0)
		i++;
	if (i == sh->n_parts)
		sh->part[sh->n_parts++] = *p; /* at most one per container, and two */
	return i;
}

/* On a node with blocks: ranks without memory nodes of their own get the job's share. */
static void share_mems(struct step *s, const struct node_view *v, const struct node_plan *plan, struct ledger_job *job)
{
	for (unsigned i = 0; i < s->shared->n_parts; i++) {
		struct step_part *p = &s->shared->part[i];

		p->own_blocks = p->kind == STEP_NAMED && node_plan_find(plan, p->container)->confined;
		if (p->own_blocks)
			continue;
		if (idset_empty(&job->share))
			mems_share(job, &s->blocks, &v->held, plan, s->in.job_memory, &v->job_cpus, &v->job_mems, &s->service);
		p->mems = idset_empty(&job->share) ? s->blocks.homes : job->share;
		p->bind_mems = p->kind != STEP_NONE;
	}
}

/* Every rank's place. Of the ranks that nobody names, all go to the same. */
static int choose(struct step *s, const struct node_view *v, const struct node_plan *plan, const struct ledger_job *job,
		  struct errbuf *err)
{
	struct step_shared *sh = s->shared;
	const char *name, *last = NULL;
	struct step_part part;

	sh->own_container = v->of_step;
	sh->n_parts = 0;
	for (unsigned i = 0; i < s->in.n_ranks; i++) {
		name = s->choice ? choice_of(s->choice, sh->rank[i].global_rank) : NULL;
		if (i == 0 || name != last) {
			if (fill_part(&part, s, v, plan, job, name, err) < 0)
				return -1;
			sh->rank[i].part = add_part(sh, &part);
		} else {
			sh->rank[i].part = sh->rank[i - 1].part;
		}
		last = name;
		sh->part[sh->rank[i].part].n_ranks++;
	}
	return 0;
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

/* One partition a step, one step a partition, and a core of the job outside of all. */
static int check_fence(struct step *s, const struct node_view *v, struct step_part *p, const struct ledger_job *job,
		       struct errbuf *err)
{
	const char *kind = p->partition == PARTITION_ISOLATED ? "an isolated" : "a root";
	struct idset left = v->job_cpus;

	if (s->in.step_id >= STEP_ID_INTERACTIVE) {
		p->partition = PARTITION_MEMBER;
		snprintf(p->unfenced, sizeof(p->unfenced),
			 "only a step of srun makes its container %s partition: this process gives way to it", kind);
		return 0;
	}
	if (s->shared->n_parts > 1)
		return errprintf(err, "container %s is to be %s partition: it needs a step of its own", p->container, kind);
	idset_andnot(&left, &p->fence);
	for (unsigned i = 0; i < job->n_steps; i++) {
		const struct ledger_step *other = &job->step[i];

		if (other->inode == s->step_inode)
			continue;
		if (other->step_id < STEP_ID_INTERACTIVE && step_is_in(s, other, p))
			return errprintf(err, "container %s is %s partition, and step %u is in it: one step at a time",
					 p->container, kind, other->step_id);
		if (other->partition != PARTITION_MEMBER)
			idset_andnot(&left, &other->fence);
	}
	if (idset_empty(&left))
		return errprintf(err, "container %s: %s partition would take the job's last core on this node: leave one core out of all partitions",
				 p->container, kind);
	if (fence_check_alone(s->cgroup_fd, v->place.job, &p->fence, err) < 0)
		return errwrap(err, "container %s: %s partition", p->container, kind);
	return 0;
}

/* Of what SCHED_HPC leaves another job can have nothing but the guard's share. */
static int check_hpc_alone(const struct step *s, const struct node_view *v, const struct step_part *p, struct errbuf *err)
{
	if (p->kind != STEP_NAMED || p->policy != POLICY_HPC || fence_check_jobs(s->cgroup_fd, v->place.job, &p->cpus, err) == 0)
		return 0;
	return errwrap(err, "container %s: policy \"hpc\"", p->container);
}

static int check_fences(struct step *s, const struct node_view *v, const struct ledger_job *job, struct errbuf *err)
{
	for (unsigned i = 0; i < s->shared->n_parts; i++)
		if (check_hpc_alone(s, v, &s->shared->part[i], err) < 0 ||
		    (s->shared->part[i].partition != PARTITION_MEMBER && check_fence(s, v, &s->shared->part[i], job, err) < 0))
			return -1;
	return 0;
}

static int keep_cores(struct step *s, const struct node_view *v, const struct node_plan *plan,
		      struct errbuf *err)
{
	/* without a plan nothing is mapped; the job's CPUs stand for one core */
	s->n_cores = plan ? plan->n_cores : 1;
	s->core = calloc(s->n_cores ? s->n_cores : 1, sizeof(*s->core));
	if (!s->core)
		return errprintf(err, "out of memory");
	if (plan)
		memcpy(s->core, plan->core, s->n_cores * sizeof(*s->core));
	else
		s->core[0] = v->job_cpus;
	return 0;
}

/* Put this step, and a new plan with it, into the ledger. The plan's owner becomes the entry. */
static int enter_ledger(struct ledger *l, struct ledger_job *job, struct step *s,
			const struct node_view *v, struct node_plan *made, struct errbuf *err)
{
	struct ledger_step *mine = ledger_job_step(job, s->step_inode);

	if (!mine)
		mine = ledger_job_add_step(job);
	if (!mine) {
		node_plan_free(made);
		return errprintf(err, "out of memory");
	}
	mine->inode = s->step_inode;
	mine->step_id = s->in.step_id;
	mine->ranks = s->in.n_ranks;
	snprintf(mine->cgroup, sizeof(mine->cgroup), "%s", v->place.step);
	mine->partition = s->shared->part[0].partition; /* it has one part, or none of them is a partition */
	mine->fence = s->shared->part[0].fence;
	/* until its ranks have their CPUs; one that is in nothing gets none */
	mine->launching = s->in.launching || s->shared->n_parts > 1 || s->shared->part[0].kind != STEP_NONE;
	mine->places[0] = '\0';
	for (unsigned i = 0; i < s->shared->n_parts; i++)
		ledger_step_add(mine, step_part_word(&s->shared->part[i]));
	if (made && v->of_step) {
		mine->plan = made;
		mine->request = strdup(v->request_text);
	} else if (made) {
		job->plan = made;
		job->request = strdup(v->request_text);
	}
	if (made && !(v->of_step ? mine->request : job->request))
		return errprintf(err, "out of memory");
	return ledger_write(l, job, err);
}

/*
 * srun returns before slurmstepd comes to our exit hook: take down the partitions of steps whose ranks have all ended, or
 * the next srun of a job script would find them in its way.
 */
static int reap_ended(struct ledger *l, const struct step *s, struct ledger_job *job, struct errbuf *err)
{
	char path[CGROUP_PATH_MAX + 8];
	struct idset gone;

	idset_zero(&gone);
	for (unsigned i = job->n_steps; i-- > 0;) {
		const struct ledger_step *other = &job->step[i];

		snprintf(path, sizeof(path), "%s/user", other->cgroup);
		if (other->inode == s->step_inode || other->launching || other->partition == PARTITION_MEMBER ||
		    !cgroup_is_empty(s->cgroup_fd, path))
			continue;
		fence_drop(s->cgroup_fd, other, &gone);
		ledger_job_del_step(job, other->inode);
	}
	if (idset_empty(&gone))
		return 0;
	fence_refresh_job(s->cgroup_fd, job);
	if (ledger_write(l, job, err) < 0)
		return -1;
	fence_refresh_above(l, s->cgroup_fd, job->cgroup, &gone);
	return 0;
}

static uint64_t usable(const struct idset *mems, void *arg)
{
	const struct step *s = arg;

	return blocks_usable(&s->blocks, mems);
}

static void write_plan(struct step *s, const struct node_view *v, const struct node_plan *plan)
{
	struct report_node node = {
		.conf = &s->conf,
		.alone = v->alone,
		.guarantee = v->guarantee,
		.job_cpus = &v->job_cpus,
		.service = &s->service,
		.usable = usable,
		.arg = s,
	};

	report_plan_text(s->shared->plan_json, sizeof(s->shared->plan_json), v->request, v->request_text, plan, &node);
}

/* Blocks that are free but not empty: where the job itself has memory, that is its own. */
static void find_dirty(const struct step *s, struct node_view *v, const struct ledger_job *job)
{
	struct idset free = s->blocks.nodes, clean;

	idset_andnot(&free, &v->held.containers);
	idset_andnot(&free, &v->held.shares);
	idset_andnot(&free, &v->held.siblings);
	if (job)
		idset_andnot(&free, &job->share);
	blocks_clean(&s->blocks, "", &free, &clean);
	idset_andnot(&free, &clean);
	v->dirty = free;
}

static int check_memory(const struct step *s, const struct node_view *v, const struct node_plan *plan, struct errbuf *err)
{
	struct idset mems = v->held.siblings;

	node_plan_mems(plan, true, &mems);
	return mems_check_memory(&s->blocks, &mems, s->in.job_memory, s->in.conf_path, err);
}

/* Who asked for a size has that much of blocks: the planner may have known no better than what they are in all. */
static int check_sizes(const struct step *s, const struct node_view *v, const struct node_plan *plan, struct errbuf *err)
{
	for (unsigned i = 0; i < plan->n && i < v->request->n; i++) {
		const struct request_container *ask = &v->request->container[i];
		uint64_t have = blocks_usable(&s->blocks, &plan->container[i].mems);
		char a[128];

		if (ask->mems_kind == MEMS_SIZE && have < ask->mems)
			return errprintf(err, "container %s: blocks %s have %llu MiB that programs can use, fewer than asked", ask->name,
					 idset_brief(a, &plan->container[i].mems), (unsigned long long)(have >> 20));
	}
	return 0;
}

/*
 * Is PLAN, made of IN while the ledger was closed, still possible? Other jobs plan at the same time, and a block is one
 * job's.
 */
static bool still_good(const struct node_plan *plan, const struct plan_input *in, const struct step *s,
		       const struct node_view *v, const struct idset *now_free)
{
	struct plan_input now;
	struct idset mems;

	if (!plan || !idset_equal(now_free, &in->cpus))
		return false;
	if (!s->blocks.on)
		return true;
	offer_mems(&now, s, v);
	idset_zero(&mems);
	node_plan_mems(plan, true, &mems);
	return idset_subset(&mems, &now.mems);
}

/*
 * One try, the ledger open: 1 = done, -1 = failed, 0 = a plan has to be made from *IN
 * (the helper runs unlocked: its user could stop it, and everybody would wait).
 */
static int settle(struct ledger *l, struct step *s, struct node_view *v, struct node_plan **made,
		  struct plan_input *in, struct errbuf *err)
{
	const struct node_plan *plan = NULL;
	struct ledger_job *job = NULL;
	struct idset now_free;
	struct errbuf bad = { "" };
	int rc = -1;

	if (ledger_read(l, s->job_inode, &job, err) < 0 || known_plan(v, s, job, &plan, err) < 0 ||
	    ((s->blocks.on || (!plan && v->request)) &&
	     mems_look(&v->held, l, &s->blocks, s->job_inode, s->step_inode, &bad, err) < 0))
		goto out;
	if (s->blocks.on && !plan)
		find_dirty(s, v, job);
	if (!plan && v->request) {
		free_for(v, s, job, &now_free);
		v->outside = v->node_cpus;
		/* reads every entry of the ledger */
		if (hpc_room_matters(v->request, &s->conf)) {
			int any = hpc_take_live(&v->outside, l, s->step_inode, &s->conf, err);

			if (any < 0)
				goto out;
			v->any_hpc = any;
		}
		s->kept_one = hpc_keep_one(&now_free, &v->outside, v->request, &s->conf, true);
		if (!still_good(*made, in, s, v, &now_free)) {
			in->cpus = now_free;
			offer_mems(in, s, v);
			in->cores = v->job_cpus;
			in->request = v->request_text;
			rc = 0;
			goto out;
		}
		if (s->blocks.on && ((s->conf.blocks_by_memory && check_memory(s, v, *made, err) < 0) || check_sizes(s, v, *made, err) < 0))
			goto out;
		if (check_hpc(s, v, *made, err) < 0)
			goto out;
		if (s->kept_one)
			for (unsigned i = 0; i < (*made)->n; i++)
				node_plan_add_why(&(*made)->container[i], "one CPU of the node stays outside of policy \"hpc\"");
		plan = *made;
	}
	if (!job)
		job = ledger_job_new(&v->place, s->in.job_id, s->in.uid);
	if (!job) {
		errprintf(err, "out of memory");
		goto out;
	}
	if (reap_ended(l, s, job, err) < 0 || choose(s, v, plan, job, err) < 0)
		goto out;
	if (s->blocks.on) {
		share_mems(s, v, plan, job);
		mems_shrink_share(job, &s->blocks, &v->held, plan, s->in.job_memory);
	}
	if ((plan && check_realtime(s, v, plan, job, err) < 0) || check_fences(s, v, job, err) < 0 ||
	    keep_cores(s, v, plan, err) < 0)
		goto out;
	write_plan(s, v, plan);
	rc = enter_ledger(l, job, s, v, plan == *made ? *made : NULL, err);
	if (plan == *made)
		*made = NULL;
	rc = rc < 0 ? -1 : 1;
out:
	ledger_job_free(job);
	return rc;
}

/* Of the CPUs that Slurm gave, those that are the ServiceOS's: its CpuSpecList is another. */
static bool wrongly_given(const struct step *s, const struct node_view *v, struct idset *out)
{
	*out = *given(s, v);
	idset_and(out, &s->service.cpus);
	return !idset_empty(out);
}

#define TELL_ADMIN "of these the ServiceOS has CPUs %s, which Slurm does not know: tell the admin (nodeosctl verify)"

static int say_which_blocks(const struct step *s, const struct node_view *v, struct errbuf *err)
{
	struct idset held = v->held.containers;
	char a[128];

	idset_or(&held, &v->held.shares);
	idset_and(&held, &s->blocks.nodes);
	if (!idset_empty(&v->dirty))
		errappend(err, " (blocks %s are not empty though nobody has them: files in /dev/shm?)", idset_brief(a, &v->dirty));
	if (idset_empty(&held))
		return errappend(err, " (this node has blocks %s, %llu MiB of which programs can use)", idset_brief(a, &s->blocks.nodes),
				 (unsigned long long)(blocks_usable(&s->blocks, &s->blocks.nodes) >> 20));
	return errappend(err, " (blocks %s belong to other jobs: with --gres=fgmn:N, where the site offers it, a job waits for N of them)",
			 idset_brief(a, &held));
}

static int say_no_block_free(const struct step *s, const struct node_view *v, struct errbuf *err)
{
	errprintf(err, "no block of memory is free");
	return say_which_blocks(s, v, err);
}

/* The planner knows nothing of steps and jobs: add whose CPUs it had, and how to get more. */
static int say_what_there_is(const struct step *s, const struct node_view *v, const struct plan_input *in, struct errbuf *err)
{
	bool of_cpus = strstr(err->text, " thread") != NULL;
	struct idset wrong;
	char a[128], b[128];

	/* its own refusal names the container; anything else is no matter of CPUs or memory nodes */
	if (strncmp(err->text, "container ", 10) != 0)
		return -1;
	if (!of_cpus && s->blocks.on)
		return say_which_blocks(s, v, err);
	if (!of_cpus)
		return s->service.own_mems ? errappend(err, " (memory nodes %s are kept for the ServiceOS)", idset_brief(a, &s->service.mems)) : -1;
	if (wrongly_given(s, v, &wrong))
		return errappend(err, " (%s has CPUs %s; " TELL_ADMIN ")", v->of_step ? "this step" : "this job",
				 idset_brief(a, given(s, v)), idset_brief(b, &wrong));
	if (v->alone && !idset_empty(&s->service.cpus))
		errappend(err, " (%u threads of this node, CPUs %s, are kept for the ServiceOS)", idset_count(&s->service.cpus),
			  idset_brief(a, &s->service.cpus));
	if (s->kept_one)
		errappend(err, " (one CPU of the node stays outside of policy \"hpc\")");
	return errappend(err, !v->of_step && v->alone			       ? " (this job has CPUs %s, all that jobs can have here)" :
			      !v->of_step				       ? " (this job has CPUs %s here; --exclusive or -c gives it more)" :
			      v->alone && idset_equal(&in->cpus, &v->job_cpus) ? " (this step has CPUs %s, all that jobs can have here)" :
										 " (this step has CPUs %s free; srun -c gives it more)",
			 idset_brief(a, &in->cpus));
}

/* No CPU at all is left to plan with. */
static int say_none_free(const struct step *s, const struct node_view *v, struct errbuf *err)
{
	struct idset wrong;
	char a[128], b[128];

	if (wrongly_given(s, v, &wrong))
		return errprintf(err, "no CPU is free: %s has CPUs %s; " TELL_ADMIN, v->of_step ? "this step" : "this job",
				 idset_brief(a, given(s, v)), idset_brief(b, &wrong));
	if (s->kept_one)
		return errprintf(err, "no CPU is free: the last one outside of policy \"hpc\" stays for the system");
	return errprintf(err, "no CPU of this step is free: other step containers of the job hold them all");
}

/* The ledger is open: nodeosctl provision changes the ServiceOS under its lock, and only where no container is. */
static int look_at_service(struct node_view *v, struct step *s, struct errbuf *err)
{
	struct idset node_cpus;

	if (service_state_load(&s->service, s->conf.state_dir, err) < 0 || cgroup_node_cpus(&node_cpus, err) < 0)
		return -1;
	v->node_cpus = node_cpus;
	idset_andnot(&node_cpus, &s->service.cpus);
	v->alone = idset_subset(&node_cpus, &v->job_cpus);
	return 0;
}

static int plan_and_choose(struct step *s, struct node_view *v, struct errbuf *err)
{
	struct node_plan *made = NULL;
	struct plan_input in = { .resize = false };
	struct ledger *l;
	int rc = 0;

	/* a round is lost only to another step of this very job, or, with blocks, to another job */
	for (int round = 0; round < ROUNDS_MAX && rc == 0; round++) {
		if (ledger_open(&l, s->conf.state_dir, s->cgroup_fd, s->conf.helper_timeout, err) < 0)
			return -1;
		rc = look_at_service(v, s, err) < 0 ? -1 : settle(l, s, v, &made, &in, err);
		ledger_close(l);
		if (rc == 0) {
			node_plan_free(made);
			made = NULL;
			if (idset_empty(&in.cpus))
				rc = say_none_free(s, v, err);
			else if (s->blocks.on && idset_empty(&in.mems))
				rc = say_no_block_free(s, v, err);
			else if (run_helper(&made, s, v, &in, err) < 0)
				rc = say_what_there_is(s, v, &in, err);
		}
	}
	node_plan_free(made);
	if (rc == 0)
		return errprintf(err, "other steps kept taking what was planned for this one: try again");
	return rc < 0 ? -1 : 0;
}

/* Buffers are the job's memory, as Slurm counts it; with less they could never be had, whoever else is on the node. */
static int check_buffers(const struct step *s, const struct node_view *v, struct errbuf *err)
{
	uint64_t all = 0;

	/* a sum of many could begin again at 0 */
	for (unsigned i = 0; v->request && i < v->request->n && all <= REQUEST_BYTES_MAX; i++)
		all += v->request->container[i].dimmap.size;
	if (!all)
		return 0;
	if (s->in.job_memory && all >= s->in.job_memory)
		return errprintf(err, "buffers (dimmap) of %llu MiB do not fit in the job's memory here, %llu MiB: ask for more (--mem), or for smaller ones",
				 (unsigned long long)(all >> 20), (unsigned long long)(s->in.job_memory >> 20));
	if (!s->conf.dimmap_max && v->guarantee == GUARANTEE_ADVISORY)
		return errprintf(err, "buffers (dimmap) have no limit here: neither Slurm bounds the memory of jobs (ConstrainRAMSpace) nor dimmap_max in %s a buffer: tell the admin",
				 s->in.conf_path);
	return 0;
}

/*
 * srun returns before slurmstepd comes to our exit hook: take down what step containers of this job, whose ranks have all
 * ended, still have, or the next srun of a job script would find its device in use.
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
		if (other->inode != s->step_inode && !other->launching && other->request && strstr(other->request, " dimmap=") &&
		    cgroup_is_empty(s->cgroup_fd, path))
			buffer_release(s->conf.state_dir, other->inode);
	}
	ledger_job_free(job);
}

/* The buffers of those containers that ranks of this step are in. They live as long as their container: in the job plan, the job. */
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
		if ((of_srun && v->request->container[i].partition != PARTITION_MEMBER) || got.policy == POLICY_HPC) {
			fence_wait_alone(s->cgroup_fd, v->place.job, &v->job_cpus, 1000 * s->conf.helper_timeout);
			return;
		}
	}
}

int step_prepare(struct step *s, unsigned rank, pid_t pid, struct errbuf *err)
{
	struct node_view v = { .request = NULL };
	int rc = -1;

	if (conf_load(&s->conf, s->in.conf_path, 0, err) < 0 || blocks_load(&s->blocks, s->conf.state_dir, "", err) < 0)
		return -1;
	if (look(&v, s, pid, err) == 0)
		number_ranks(&v, s, rank);
	else
		return -1;
	v.guarantee = mems_guarantee(&s->blocks, &s->conf, s->cgroup_fd, v.place.job);
	if (read_choice(s, err) == 0 && read_request(&v, s, err) == 0 && check_contain(&v, s, err) == 0 && check_buffers(s, &v, err) == 0) {
		wait_for_last_job(s, &v);
		if (plan_and_choose(s, &v, err) == 0 && widen(s, &v, err) == 0 && confine_memory(s, &v, err) == 0)
			rc = make_buffers(s, &v, err);
	}
	free(v.request);
	return rc;
}
