/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Planning: the ledger is open while a plan is checked and written, and closed while the planner
 * runs.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/subprocess.h"
#include "container/container_json.h"
#include "container/ledger.h"
#include "container/mems.h"
#include "container/partitions.h"
#include "host/cgroup.h"
#include "jobplan/job_plan_check.h"
#include "launch/prepare_impl.h"
#include "launch/site.h"

#define ROUNDS_MAX 32 /* greatest number of rounds of planning */

/* Set the memory nodes that the new containers may have, and which of these are taken. */
static void plan_round_offer_mems(struct plan_input *in, const struct step *s,
				  const struct node_view *v)
{
	in->mems = v->job_mems;
	/*
	 * If the ServiceOS has memory nodes of its own (own_mems), every container is bound to
	 * memory nodes; a container that requests none gets ordinary ones.
	 */
	in->default_mems =
		plan_input_default_mems(s->conf.default_mems, s->service.own_mems, s->blocks.on);
	if (s->service.own_mems)
		idset_andnot(&in->mems, &s->service.mems);
	if (s->blocks.on) {
		/*
		 * a block belongs to only one job, and has no leftover files when the job gets it
		 */
		idset_and(&in->mems, &s->blocks.nodes);
		idset_andnot(&in->mems, &v->held.containers);
		idset_andnot(&in->mems, &v->held.shares);
		idset_andnot(&in->mems, &v->dirty);
	}
	in->mems_taken = v->held.containers;
	idset_or(&in->mems_taken, &v->held.siblings);
	idset_and(&in->mems_taken, &in->mems);
}

/*
 * Get the CPUs for a new container: those that Slurm gave the job or step, minus those of the
 * ServiceOS. For a step container, the CPUs of the job's other live step containers are left out,
 * too.
 */
static void free_for(const struct node_view *v, const struct step *s, const struct ledger_job *job,
		     struct idset *out)
{
	struct idset held;

	*out = *prepare_slurm_cpus(s, v);
	/* slurm.conf may fail to withhold the ServiceOS's CPUs; nodeosctl verify reports that */
	idset_andnot(out, &s->service.cpus);
	if (!v->of_step || !job)
		return;
	idset_zero(&held);
	for (unsigned i = 0; i < job->n_steps; i++)
		job_plan_reserved(job->step[i].plan, &held);
	idset_andnot(out, &held);
}

/*
 * For step containers that a policy of contention places: write which of them had devils (ranks
 * with many cache misses) in earlier steps of the job, and the CPUs of live containers that had
 * devils.
 */
static void plan_round_offer_apart(struct apart *out, const struct step *s,
				   const struct node_view *v, const struct ledger_job *job)
{
	*out = (struct apart){ 0 };
	for (unsigned i = 0; v->of_step && job && i < v->request->n; i++) {
		const struct requested_container *c = &v->request->container[i];
		enum contention_policy p =
			s->in.contention != CONTENTION_UNSET
				? s->in.contention
				: contention_of_container(c, &s->conf.contention);

		if (contention_places(p) && ledger_job_had_devil(job, c->name))
			out->devils |= UINT64_C(1) << i;
	}
	for (unsigned i = 0; out->devils && i < job->n_steps; i++) {
		const struct job_plan *plan = job->step[i].plan;

		for (unsigned k = 0; plan && k < plan->n; k++)
			if (ledger_job_had_devil(job, plan->container[k].name))
				idset_or(&out->cpus, &plan->container[k].cpus);
	}
}

/*
 * May the job have these containers (allow_NAME)? Only new containers are checked, so that a step
 * in containers of the ledger does not wait for slurmctld or the user database, which may be slow.
 */
static int plan_round_check_site(const struct step *s, const struct node_view *v,
				 struct errbuf *err)
{
	const struct site_job job = { .conf = &s->conf,
				      .conf_path = s->in.conf_path,
				      .job_id = s->in.job_id,
				      .uid = s->in.uid,
				      .load_job = s->in.load_job };

	return site_check_isolators(&job, v->request, err);
}

static int plan_round_run_helper(struct job_plan **out, struct step *s, const struct node_view *v,
				 const struct plan_input *in, struct errbuf *err)
{
	const char *argv[] = { s->in.helper_path, NULL };
	struct subprocess h = {
		.argv = argv,
		.uid = s->in.uid,
		.gid = s->in.gid,
		.timeout = s->conf.helper_timeout,
	};

	if (plan_input_ask(out, &h, s->conf.state_dir, in, err) < 0)
		return -1;
	if (job_plan_check(*out, v->request, in, &s->blocks, "", err) < 0)
		return plan_input_refuse(out, err);
	return 0;
}

static const char no_request[] =
	"the job's request is missing in this step's environment (the SLURM_SPANK_* variables "
	"were removed), and no step of the job has made its containers on this node: start steps "
	"inside the job, or use --nodeos=off";

/*
 * Compare the environment's request with the ledger's. *PLAN gets the ledger's plan, or NULL if
 * there is none yet.
 */
static int known_plan(const struct node_view *v, const struct step *s, const struct ledger_job *job,
		      const struct job_plan **plan, struct errbuf *err)
{
	*plan = NULL;
	if (!job || !job->plan) {
		if (!v->request && s->in.request_expected)
			return errprintf(err, "%s", no_request);
		return 0;
	}
	if (job->uid != s->in.uid)
		return errprintf(err, "the containers of this job belong to uid %u",
				 (unsigned)job->uid);
	if (!s->in.job_request && s->in.step_request)
		return errprintf(err, "this job got its containers from sbatch or salloc: a step "
				      "cannot bring a second manifest");
	if (!s->in.job_request)
		return errprintf(err, "the job's containers were made while this step was launched "
				      "without the job's environment: try again");
	if (strcmp(s->in.job_request, job->request) != 0)
		return errprintf(err, "the request in this step's environment differs from that of "
				      "the job's containers");
	*plan = job->plan;
	return 0;
}

/*
 * Write this step into the ledger, with the new plan MADE (NULL: no new plan), which the entry then
 * owns.
 */
static int enter_ledger(struct ledger *l, struct ledger_job *job, struct step *s,
			const struct node_view *v, struct job_plan *made, struct errbuf *err)
{
	struct ledger_step *mine = ledger_job_step(job, s->step_inode);
	int rc;

	if (!mine)
		mine = ledger_job_add_step(job);
	if (!mine) {
		job_plan_free(made);
		return errprintf(err, "out of memory");
	}
	mine->inode = s->step_inode;
	mine->step_id = s->in.step_id;
	mine->ranks = s->in.n_ranks;
	snprintf(mine->cgroup, sizeof(mine->cgroup), "%s", v->place.step);
	/* a step with a partition has only one part, so part 0 stands for the step */
	mine->partition = s->shared->part[0].given.partition;
	mine->partition_cpus = s->shared->part[0].given.partition_cpus;
	/*
	 * a step is launching until its ranks have their CPUs; ranks in "none" are given no CPUs
	 */
	mine->launching = s->in.launching || s->shared->n_parts > 1 ||
			  s->shared->part[0].kind != STEP_NONE;
	rc = ledger_step_set_places(mine, "");
	for (unsigned i = 0; rc == 0 && i < s->shared->n_parts; i++)
		rc = ledger_step_add(mine, step_part_word(&s->shared->part[i]));
	if (made && v->of_step) {
		mine->plan = made;
		mine->request = strdup(v->request_text);
	} else if (made) {
		job->plan = made;
		job->request = strdup(v->request_text);
	}
	if (rc < 0 || (made && !(v->of_step ? mine->request : job->request)))
		return errprintf(err, "out of memory");
	return ledger_write(l, job, err);
}

/*
 * May a step run without an entry in the ledger, because its job's entry is full (bounds in
 * ledger.h)? Yes, if it is outside of containers, since then other jobs need not know of it. CHOSE:
 * the step has a new plan or new memory nodes; without an entry, other jobs would get these, too.
 * After any error except LEDGER_BOUND the step fails.
 */
static int allow_without_entry(struct step *s, bool chose, struct errbuf *err)
{
	if (err->code != LEDGER_BOUND || chose || s->shared->n_parts > 1 ||
	    s->shared->part[0].kind != STEP_NONE)
		return -1;
	errwrap(err, "warning: this step runs, but nodeosctl does not show it");
	step_add_warning(s, err);
	errclear(err);
	return 0;
}

/*
 * Remove the partitions of steps whose ranks have all ended. Such a step can still be in the
 * ledger, since srun returns before slurmstepd calls our exit hook, and its partition would make
 * the next srun of a job script fail.
 */
static int reap_ended(struct ledger *l, const struct step *s, struct ledger_job *job,
		      struct errbuf *err)
{
	char path[CGROUP_PATH_MAX + 8];
	struct idset gone;

	idset_zero(&gone);
	for (unsigned i = job->n_steps; i-- > 0;) {
		const struct ledger_step *other = &job->step[i];

		snprintf(path, sizeof(path), "%s/user", other->cgroup);
		if (other->inode == s->step_inode || other->launching ||
		    other->partition == PARTITION_MEMBER || !cgroup_is_empty(s->cgroup_fd, path))
			continue;
		isolators_drop(s->cgroup_fd, other, &gone);
		ledger_job_del_step(job, other->inode);
	}
	if (idset_empty(&gone))
		return 0;
	partitions_refresh_job(s->cgroup_fd, job);
	if (ledger_write(l, job, err) < 0)
		return -1;
	partitions_refresh_above(l, s->cgroup_fd, job->cgroup, &gone);
	return 0;
}

static uint64_t usable_bytes(const struct idset *mems, void *arg)
{
	const struct step *s = arg;

	return blocks_usable(&s->blocks, mems);
}

static void write_plan(struct step *s, const struct node_view *v, const struct job_plan *plan)
{
	struct report_node node = {
		.conf = &s->conf,
		.alone = v->alone,
		.guarantee = v->guarantee,
		.job_cpus = &v->job_cpus,
		.service = &s->service,
		.usable = usable_bytes,
		.arg = s,
	};

	report_plan_text(s->shared->plan_json, sizeof(s->shared->plan_json), v->request,
			 v->request_text, plan, &node);
}

/*
 * Find blocks that are free but contain files. The job's own blocks are not free.
 */
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

static int check_memory(const struct step *s, const struct node_view *v,
			const struct job_plan *plan, struct errbuf *err)
{
	struct idset mems = v->held.siblings;

	job_plan_mems(plan, true, &mems);
	return mems_check_memory(&s->blocks, &mems, s->in.job_memory, s->in.conf_path, err);
}

/*
 * Does each container have the size that it requests? The planner may know only the total size of
 * blocks, not the usable size.
 */
static int check_sizes(const struct step *s, const struct node_view *v, const struct job_plan *plan,
		       struct errbuf *err)
{
	for (unsigned i = 0; i < plan->n && i < v->request->n; i++) {
		const struct requested_container *ask = &v->request->container[i];
		uint64_t have = blocks_usable(&s->blocks, &plan->container[i].mems);
		char a[128];

		if (ask->mems_kind == MEMS_SIZE && have < ask->mems)
			return errprintf(
				err,
				"container %s: blocks %s have only %llu MiB that programs can "
				"use, less than requested",
				ask->name, idset_brief(a, &plan->container[i].mems),
				(unsigned long long)(have >> 20));
	}
	return 0;
}

/*
 * Is PLAN, made from IN while the ledger was closed, still possible? Another job may have taken a
 * block meanwhile.
 */
static bool still_good(const struct job_plan *plan, const struct plan_input *in,
		       const struct step *s, const struct node_view *v,
		       const struct idset *now_free)
{
	struct plan_input now;
	struct idset mems;

	if (!plan || !idset_equal(now_free, &in->cpus))
		return false;
	if (!s->blocks.on)
		return true;
	plan_round_offer_mems(&now, s, v);
	idset_zero(&mems);
	job_plan_mems(plan, true, &mems);
	return idset_subset(&mems, &now.mems);
}

/* The state of one attempt to settle the plan, and what it leaves for the next attempt. */
struct plan_try {
	struct ledger *ledger; /* open during an attempt */
	struct isolator_planning planning; /* what the isolators get in this attempt */
	struct plan_input in; /* input for the next plan */
	/* made from IN; NULL: not made yet, or owned by the ledger's entry */
	struct job_plan *made;
	bool admitted; /* the site allows the containers */
};

/*
 * Does the new plan fit the job's memory and the usable sizes of blocks? If it does, add S->kept to
 * the reasons of its containers.
 */
static int accept_made(const struct plan_try *t, const struct step *s, const struct node_view *v,
		       struct errbuf *err)
{
	if (s->blocks.on && ((s->conf.blocks_by_memory && check_memory(s, v, t->made, err) < 0) ||
			     check_sizes(s, v, t->made, err) < 0))
		return -1;
	for (unsigned i = 0; s->kept && i < t->made->n; i++)
		job_plan_add_why(&t->made->container[i], s->kept);
	return 0;
}

/*
 * Check the new plan, if the ledger has no plan of the job. Returns 1 if it is good; -1 and 0 as in
 * settle_plan().
 */
static int judge_made(struct plan_try *t, struct step *s, struct node_view *v,
		      const struct ledger_job *job, struct errbuf *err)
{
	struct isolator_planning *p = &t->planning;

	free_for(v, s, job, &p->cpus);
	if (isolators_offer(p, err) < 0)
		return -1;
	s->kept = p->kept;
	if (!still_good(t->made, &t->in, s, v, &p->cpus)) {
		t->in.cpus = p->cpus;
		plan_round_offer_mems(&t->in, s, v);
		t->in.cores = v->job_cpus;
		plan_round_offer_apart(&t->in.apart, s, v, job);
		t->in.request = v->request_text;
		return 0;
	}
	return accept_made(t, s, v, err) < 0 ? -1 : 1;
}

/*
 * Choose every rank's place in PLAN, which is good (NULL: no plan), and write the step into the
 * ledger.
 */
static int enter_plan(struct plan_try *t, struct step *s, struct node_view *v,
		      const struct job_plan *plan, struct ledger_job *job, struct errbuf *err)
{
	struct job_plan *made = plan == t->made ? t->made : NULL;
	bool had_share = !idset_empty(&job->share);

	if (reap_ended(t->ledger, s, job, err) < 0 || prepare_choose(s, v, plan, job, err) < 0)
		return -1;
	if (s->blocks.on) {
		prepare_share_mems(s, v, plan, job);
		mems_shrink_share(job, &s->blocks, &v->held, plan, s->in.job_memory);
	}
	if ((plan && isolators_planned(&t->planning, plan, err) < 0) ||
	    prepare_accept(s, v, job, err) < 0 || prepare_keep_cores(s, v, plan, err) < 0)
		return -1;
	write_plan(s, v, plan);
	if (made)
		t->made = NULL; /* the entry owns it now */
	if (enter_ledger(t->ledger, job, s, v, made, err) == 0)
		return 0;
	return allow_without_entry(s, made || (!had_share && !idset_empty(&job->share)), err);
}

/*
 * Make one attempt while the ledger is open. Returns 1: done, -1: failed, 0: the helper must make a
 * plan from T->in. The helper runs after the ledger is unlocked: its user can stop it, and every
 * launch would wait for the lock.
 */
static int settle_plan(struct plan_try *t, struct step *s, struct node_view *v, struct errbuf *err)
{
	const struct mems_self self = { s->job_inode, s->step_inode };
	const struct job_plan *plan = NULL;
	struct ledger_job *job = NULL;
	struct errbuf bad = { 0 };
	int rc = -1;

	if (ledger_read(t->ledger, s->job_inode, &job, err) < 0 ||
	    known_plan(v, s, job, &plan, err) < 0 ||
	    ((s->blocks.on || (!plan && v->request)) &&
	     mems_read_ledger(&v->held, t->ledger, &s->blocks, &self, &bad, err) < 0))
		goto out;
	if (s->blocks.on && !plan)
		find_dirty(s, v, job);
	t->planning = (struct isolator_planning){
		.conf = &s->conf,
		.conf_path = s->in.conf_path,
		.wanted = step_wanted_cpus(s),
		.request = v->request,
		.ledger = t->ledger,
		.job = job,
		.step_inode = s->step_inode,
		.node_cpus = &v->node_cpus,
		.job_cpus = &v->job_cpus,
	};
	if (!plan && v->request) {
		rc = judge_made(t, s, v, job, err);
		if (rc <= 0)
			goto out;
		plan = t->made;
	}
	if (!job)
		job = ledger_job_new(&v->place, s->in.job_id, s->in.uid);
	if (!job)
		rc = errprintf(err, "out of memory");
	else
		rc = enter_plan(t, s, v, plan, job, err) < 0 ? -1 : 1;
out:
	ledger_job_free(job);
	return rc;
}

/*
 * Read the ServiceOS's CPUs and memory nodes while the ledger is open: nodeosctl provision changes
 * them only with the ledger locked and while there are no containers.
 */
static int read_service(struct node_view *v, struct step *s, struct errbuf *err)
{
	struct idset node_cpus;

	if (service_state_load(&s->service, s->conf.state_dir, err) < 0 ||
	    cgroup_node_cpus(&node_cpus, err) < 0)
		return -1;
	v->node_cpus = node_cpus;
	idset_andnot(&node_cpus, &s->service.cpus);
	v->alone = idset_subset(&node_cpus, &v->job_cpus);
	return 0;
}

/* Log the places of the ranks and their settings. */
static void log_places(const struct step *s)
{
	for (unsigned i = 0; i < s->shared->n_parts; i++) {
		const struct step_part *p = &s->shared->part[i];
		char cpus[128], mems[128];

		STEP_LOG(s, "choose",
			 "%u ranks in %s: CPUs %s, memory nodes %s%s, policy %s, partition %s",
			 p->n_ranks,
			 p->kind == STEP_REST ? "the rest outside of containers"
					      : step_part_word(p),
			 idset_brief(cpus, &p->given.cpus), idset_brief(mems, &p->given.mems),
			 p->given.bind_mems ? "" : " (not bound)",
			 p->given.policy == POLICY_UNSET ? "unchanged"
							 : policy_name(p->given.policy),
			 partition_name(p->given.partition));
	}
}

/* Make T->made from T->in, with the ledger closed. */
static int plan_round_make(struct plan_try *t, struct step *s, struct node_view *v,
			   struct errbuf *err)
{
	job_plan_free(t->made);
	t->made = NULL;
	if (!t->admitted && plan_round_check_site(s, v, err) < 0)
		return -1;
	t->admitted = true;
	if (idset_empty(&t->in.cpus))
		return prepare_refuse_no_cpu(s, v, err);
	if (s->blocks.on && idset_empty(&t->in.mems))
		return prepare_refuse_no_block(s, v, err);
	if (plan_round_run_helper(&t->made, s, v, &t->in, err) < 0)
		return prepare_append_available(s, v, &t->in, err);
	return 0;
}

int prepare_plan_and_choose(struct step *s, struct node_view *v, struct errbuf *err)
{
	struct plan_try t = { .made = NULL };
	int rc = 0;

	/*
	 * only another step of this job or, with blocks, another job makes a plan out of date
	 */
	for (int round = 0; round < ROUNDS_MAX && rc == 0; round++) {
		char cpus[128], mems[128];

		rc = ledger_open(&t.ledger, s->conf.state_dir, s->cgroup_fd, s->conf.helper_timeout,
				 err);
		if (rc < 0)
			break;
		rc = read_service(v, s, err) < 0 ? -1 : settle_plan(&t, s, v, err);
		ledger_close(t.ledger);
		if (rc == 0) {
			rc = plan_round_make(&t, s, v, err);
			STEP_LOG(s, "plan", "round %d, from CPUs %s and memory nodes %s: %s", round,
				 idset_brief(cpus, &t.in.cpus), idset_brief(mems, &t.in.mems),
				 rc < 0 ? err->text : "a plan");
		}
	}
	job_plan_free(t.made);
	if (rc > 0)
		log_places(s);
	if (rc == 0)
		return errprintf(
			err,
			"other steps took the planned resources again and again: try again later");
	return rc < 0 ? -1 : 0;
}
