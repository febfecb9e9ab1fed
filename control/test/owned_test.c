/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/owned.h"

#include "base/test/tap.h"

/*
 * Make a job with a container in the job plan and with two step containers, which have the same
 * name, as all containers from options do.
 */
static struct ledger_job *make_job(uint32_t id)
{
	static const char *const name[] = { "sim", "step", "step" };
	struct cgroup_place place = { .job = "slurm/job_7", .job_inode = id };
	struct ledger_job *job = ledger_job_new(&place, id, 1000);

	for (unsigned i = 0; i < 3; i++) {
		struct job_plan *p = job_plan_new();
		struct ledger_step *s;

		if (!p || !job_plan_add(p, name[i]))
			bail("out of memory");
		idset_add(&p->container[0].cpus, i);
		if (i == 0) {
			job->plan = p;
			continue;
		}
		s = ledger_job_add_step(job);
		if (!s)
			bail("out of memory");
		s->step_id = i - 1;
		s->inode = 100 * (id - 6) + i;
		s->plan = p;
		snprintf(s->cgroup, sizeof(s->cgroup), "slurm/job_7/step_%u", s->step_id);
		ledger_step_add(s, name[i]);
	}
	return job;
}

/* Return a request to resize the container NAME. It names step STEP unless STEP is -1. */
static struct ask ask_for(const char *name, int step)
{
	struct ask a = { .operation = ASK_RESIZE,
			 .step_given = step >= 0,
			 .step = step >= 0 ? (uint32_t)step : 0 };

	snprintf(a.container, sizeof(a.container), "%s", name);
	return a;
}

static int find_container(struct owned *o, const struct node_state *s, const char *name,
			  const char *cgroup, struct errbuf *err)
{
	struct ask a = ask_for(name, -1);

	return owned_find(o, s, &a, cgroup, err);
}

/*
 * Return the step of the container NAME that a caller in CGROUP finds; 99 for a container of the
 * job plan, -1 for none.
 */
static int step_of(const struct node_state *s, const char *name, const char *cgroup)
{
	struct errbuf err = { 0 };
	struct owned o;

	if (find_container(&o, s, name, cgroup, &err) < 0) {
		diag("%s", err.text);
		return -1;
	}
	return o.own ? (int)o.own->step_id : 99;
}

/* Return whether owned_find() refuses A with a message that begins with TEXT. */
static bool is_refused(const struct node_state *s, const struct ask *a, const char *text)
{
	struct errbuf err = { 0 };
	struct owned o;
	int rc = owned_find(&o, s, a, "", &err);

	if (rc == 0 || strncmp(err.text, text, strlen(text)) != 0)
		diag("%s", rc == 0 ? "owned_find() has accepted the request" : err.text);
	return rc < 0 && strncmp(err.text, text, strlen(text)) == 0;
}

/* Check requests with and without a step. */
static void test_by_step(const struct node_state *s)
{
	struct ledger_job *job = s->job[0];
	struct ask first = ask_for("step", 0), second = ask_for("step", 1),
		   ninth = ask_for("step", 9), any = ask_for("step", -1), sim = ask_for("sim", 0),
		   plan = ask_for("sim", 2);
	struct ask remove = { .operation = ASK_DELETE, .container = "step" };
	struct ledger_step *in_plan;
	struct errbuf err = { 0 };
	struct owned o;

	ok(owned_find(&o, s, &first, "", &err) == 0 && o.own == &job->step[0] && o.step == o.own &&
		   idset_has(&o.container->cpus, 1),
	   "a request with a step finds the step's own container");
	ok(owned_find(&o, s, &second, "", &err) == 0 && o.own == &job->step[1] && o.step == o.own &&
		   idset_has(&o.container->cpus, 2),
	   "a request with the second step finds that step's own container");
	ok(owned_find(&o, s, &second, "slurm/job_7/step_0/user/task_0", &err) == 0 &&
		   o.own == &job->step[1],
	   "a rank of another step also finds the container of the named step");
	ok(is_refused(s, &any,
		      "several steps have a container step of their own here (7.0, 7.1): name one "
		      "(--step=JOB.STEP)"),
	   "a container of several steps is refused without a step");
	any.operation = ASK_FIND;
	ok(is_refused(s, &any, "several steps have a container step of their own here (7.0, 7.1)"),
	   "a find of a container of several steps is refused without a step");
	ok(owned_find(&o, s, &remove, "", &err) == 0 && o.own,
	   "a delete of a container of several steps without a step finds one of them");
	ok(is_refused(s, &ninth,
		      "step 9 is in no container step on this node (steps that are: 7.0, "
		      "7.1)"),
	   "a step that does not exist is refused");
	ok(is_refused(s, &sim, "you have no step in a container sim on this node"),
	   "a request for the job's container with a step that has its own container is refused");
	in_plan = ledger_job_add_step(job);
	if (!in_plan)
		bail("out of memory");
	in_plan->step_id = 2;
	in_plan->inode = 200;
	ledger_step_add(in_plan, "sim");
	in_plan = ledger_job_add_step(job);
	if (!in_plan)
		bail("out of memory");
	in_plan->step_id = 3;
	in_plan->inode = 201;
	ledger_step_add(in_plan, "sim");
	ok(owned_find(&o, s, &plan, "", &err) == 0 && !o.own && o.plan == job->plan &&
		   o.step == &job->step[2] && o.inode == job->inode,
	   "a request with a step in the job's container finds that container and step");
	plan.step_given = false;
	ok(owned_find(&o, s, &plan, "", &err) == 0 && !o.own && o.step == &job->step[3],
	   "a request without a step finds the job's container and its last step");
	ok(is_refused(s, &sim,
		      "step 0 is in no container sim on this node (steps that are: 7.2, 7.3)"),
	   "a request for the job's container with a step outside of it is refused");
	plan.step_given = true;
	job->plan->container[0].deleted = true;
	ok(is_refused(s, &plan, "container sim of job 7 was deleted"),
	   "a request for a deleted container with one of its steps is refused");
	ok(is_refused(s, &sim, "you have no step in a container sim"),
	   "a request for a deleted container with another step is refused");
	job->plan->container[0].deleted = false;
	ledger_job_del_step(job, 200);
	ledger_job_del_step(job, 201);
}

/* A job has more steps than a message can name. */
static void test_owned_many(void)
{
	struct ledger_job *job = make_job(4294967295u);
	struct node_state s = { .n_jobs = 1, .job = &job };
	struct ask a = ask_for("step", -1);

	for (unsigned i = 0; i < 30; i++) {
		struct ledger_step *step = ledger_job_add_step(job);

		if (!step || !(step->plan = job_plan_new()) || !job_plan_add(step->plan, "step"))
			bail("out of memory");
		step->step_id = ASK_STEP_MAX - 30 + i;
		snprintf(step->cgroup, sizeof(step->cgroup), "slurm/job_7/step_%u", step->step_id);
	}
	ok(is_refused(&s, &a,
		      "several steps have a container step of their own here (4294967295.0, "
		      "4294967295.1, 4294967295.4294967250, "
		      "4294967295.4294967251, 4294967295.4294967252, 4294967295.4294967253, "
		      "4294967295.4294967254, 4294967295.4294967255, ...): name one"),
	   "a message names eight of 32 steps");
	ledger_job_free(job);
}

/* A later search finds the same container although other containers have its name now. */
static void test_again(const struct node_state *s)
{
	struct ledger_job *job = s->job[0];
	struct errbuf err = { 0 };
	struct owned o;

	ok(owned_find_again(&o, s, "step", job->step[0].inode, &err) == 0 &&
		   o.own == &job->step[0] && o.step == o.own && o.job == job,
	   "owned_find_again: finds the first step's container");
	ok(owned_find_again(&o, s, "sim", job->inode, &err) == 0 && !o.own && o.plan == job->plan,
	   "owned_find_again: finds the job's container");
	job->plan->container[0].deleted = true;
	ok(owned_find_again(&o, s, "sim", job->inode, &err) < 0 &&
		   strstr(err.text, "container sim of job 7 was deleted"),
	   "owned_find_again: refuses a container deleted meanwhile: %s", err.text);
	ledger_job_del_step(job, job->step[0].inode);
	ok(owned_find_again(&o, s, "step", 101, &err) < 0 &&
		   strstr(err.text, "container step has ended meanwhile"),
	   "owned_find_again: refuses a container whose step has ended: %s", err.text);
}

int main(void)
{
	struct ledger_job *job[2] = { make_job(7), NULL };
	struct node_state s = { .n_jobs = 1, .job = job };
	struct errbuf err = { 0 };
	struct owned o;
	struct ask one;

	is_int(step_of(&s, "step", ""), -1,
	       "owned_find: a caller outside of jobs must name a step");
	is_int(step_of(&s, "step", "slurm/job_7/step_0/user/task_0"), 0,
	       "owned_find: a rank of the first step gets its own container");
	is_int(step_of(&s, "step", "slurm/job_7/step_1/user/task_3"), 1,
	       "owned_find: a rank of the second step gets its own container");
	is_int(step_of(&s, "step", "slurm/job_7/step_10/user/task_3"), -1,
	       "owned_find: a caller in step_10 is not taken for a caller in step_1");
	is_int(step_of(&s, "step", "slurm/job_7/step_0"), 0,
	       "owned_find: a caller in the step's own directory gets the step's container");
	is_int(step_of(&s, "sim", "slurm/job_7/step_0/user/task_0"), 99,
	       "owned_find: a rank of a step finds the job's container");
	is_int(step_of(&s, "vda", "slurm/job_7/step_0/user/task_0"), -1,
	       "owned_find: an unknown name finds no container");
	test_by_step(&s);
	test_owned_many();
	job[1] = make_job(8);
	snprintf(job[1]->step[0].cgroup, sizeof(job[1]->step[0].cgroup), "slurm/job_8/step_0");
	snprintf(job[1]->step[1].cgroup, sizeof(job[1]->step[1].cgroup), "slurm/job_8/step_1");
	s.n_jobs = 2;
	ok(find_container(&o, &s, "step", "", &err) < 0 &&
		   strstr(err.text, "jobs 7 and 8 both have"),
	   "a container of two jobs is refused: %s", err.text);
	ok(find_container(&o, &s, "step", "slurm/job_7/step_0/user/task_0", &err) == 0 &&
		   o.job == job[0] && o.own == &job[0]->step[0] && o.step == o.own,
	   "a caller in a step gets its own container even if two jobs have one of that name");
	one = ask_for("step", 1);
	ok(is_refused(&s, &one, "jobs 7 and 8 both have a container step here: name one (--job)"),
	   "owned_find: refuses a step number that two jobs have");
	ledger_job_del_step(job[1], job[1]->step[1].inode);
	ok(owned_find(&o, &s, &one, "", &err) == 0 && o.own == &job[0]->step[1],
	   "owned_find: finds a step number that one of two jobs has");
	test_again(&s);
	ledger_job_free(job[0]);
	ledger_job_free(job[1]);
	return tap_done();
}
