/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/owned.h"

#include "base/test/tap.h"

/* Two step containers of one name, as all of options alone have, and a container of the job plan.
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

/* Who resizes the container NAME, of step STEP if that is not -1. */
static struct ask ask_for(const char *name, int step)
{
	struct ask a = { .operation = ASK_RESIZE,
			 .step_given = step >= 0,
			 .step = step >= 0 ? (uint32_t)step : 0 };

	snprintf(a.container, sizeof(a.container), "%s", name);
	return a;
}

static int find(struct owned *o, const struct node_state *s, const char *name, const char *cgroup,
		struct errbuf *err)
{
	struct ask a = ask_for(name, -1);

	return owned_find(o, s, &a, cgroup, err);
}

/* The step whose container NAME is found, asked from CGROUP; 99: the job's; -1: none. */
static int step_of(const struct node_state *s, const char *name, const char *cgroup)
{
	struct errbuf err = { 0 };
	struct owned o;

	if (find(&o, s, name, cgroup, &err) < 0) {
		diag("%s", err.text);
		return -1;
	}
	return o.own ? (int)o.own->step_id : 99;
}

/* A refusal of owned_find begins with TEXT. */
static bool refused(const struct node_state *s, const struct ask *a, const char *text)
{
	struct errbuf err = { 0 };
	struct owned o;
	int rc = owned_find(&o, s, a, "", &err);

	if (rc == 0 || strncmp(err.text, text, strlen(text)) != 0)
		diag("%s", rc == 0 ? "it is found" : err.text);
	return rc < 0 && strncmp(err.text, text, strlen(text)) == 0;
}

/* The container of one step, and where nobody says of which. */
static void by_step(const struct node_state *s)
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
	   "the first step's");
	ok(owned_find(&o, s, &second, "", &err) == 0 && o.own == &job->step[1] && o.step == o.own &&
		   idset_has(&o.container->cpus, 2),
	   "the second's");
	ok(owned_find(&o, s, &second, "slurm/job_7/step_0/user/task_0", &err) == 0 &&
		   o.own == &job->step[1],
	   "also for a rank of the first");
	ok(refused(s, &any,
		   "several steps have a container step of their own here (7.0, 7.1): say which "
		   "one (--step=JOB.STEP)"),
	   "not said of which step: refused");
	any.operation = ASK_FIND;
	ok(refused(s, &any, "several steps have a container step of their own here (7.0, 7.1)"),
	   "who wants to be in one, too");
	ok(owned_find(&o, s, &remove, "", &err) == 0 && o.own,
	   "who deletes is told that none can be");
	ok(refused(s, &ninth,
		   "step 9 is in no container step on this node (these steps are in one: 7.0, "
		   "7.1)"),
	   "no such step");
	ok(refused(s, &sim, "no step of yours is in a container sim on this node"),
	   "a step that has brought its own is not in the job's");
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
	   "a step in the job's: that one, and beside this step");
	plan.step_given = false;
	ok(owned_find(&o, s, &plan, "", &err) == 0 && !o.own && o.step == &job->step[3],
	   "not said: beside the last one");
	ok(refused(s, &sim,
		   "step 0 is in no container sim on this node (these steps are in one: 7.2, 7.3)"),
	   "another step is not");
	plan.step_given = true;
	job->plan->container[0].deleted = true;
	ok(refused(s, &plan, "container sim of job 7 was deleted"), "deleted");
	ok(refused(s, &sim, "no step of yours is in a container sim"), "nobody is in it then");
	job->plan->container[0].deleted = false;
	ledger_job_del_step(job, 200);
	ledger_job_del_step(job, 201);
}

/* Many more than a message can name. */
static void many(void)
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
	ok(refused(&s, &a,
		   "several steps have a container step of their own here (4294967295.0, "
		   "4294967295.1, 4294967295.4294967250, "
		   "4294967295.4294967251, 4294967295.4294967252, 4294967295.4294967253, "
		   "4294967295.4294967254, 4294967295.4294967255, ...): say which one"),
	   "of 32 steps, eight are named");
	ledger_job_free(job);
}

/* What was found stays what is meant, though there are others of the name now. */
static void again(const struct node_state *s)
{
	struct ledger_job *job = s->job[0];
	struct errbuf err = { 0 };
	struct owned o;

	ok(owned_find_again(&o, s, "step", job->step[0].inode, &err) == 0 &&
		   o.own == &job->step[0] && o.step == o.own && o.job == job,
	   "the first step's again");
	ok(owned_find_again(&o, s, "sim", job->inode, &err) == 0 && !o.own && o.plan == job->plan,
	   "the job's again");
	job->plan->container[0].deleted = true;
	ok(owned_find_again(&o, s, "sim", job->inode, &err) < 0 &&
		   strstr(err.text, "container sim of job 7 was deleted"),
	   "deleted meanwhile: %s", err.text);
	ledger_job_del_step(job, job->step[0].inode);
	ok(owned_find_again(&o, s, "step", 101, &err) < 0 &&
		   strstr(err.text, "container step has ended meanwhile"),
	   "its step has ended: %s", err.text);
}

int main(void)
{
	struct ledger_job *job[2] = { make_job(7), NULL };
	struct node_state s = { .n_jobs = 1, .job = job };
	struct errbuf err = { 0 };
	struct owned o;
	struct ask one;

	is_int(step_of(&s, "step", ""), -1, "asked from elsewhere: it is to be said which");
	is_int(step_of(&s, "step", "slurm/job_7/step_0/user/task_0"), 0,
	       "a rank of the first step: its own");
	is_int(step_of(&s, "step", "slurm/job_7/step_1/user/task_3"), 1,
	       "one of the second: its own");
	is_int(step_of(&s, "step", "slurm/job_7/step_10/user/task_3"), -1,
	       "of a step whose name begins so: as from elsewhere");
	is_int(step_of(&s, "step", "slurm/job_7/step_0"), 0, "the step's directory itself");
	is_int(step_of(&s, "sim", "slurm/job_7/step_0/user/task_0"), 99, "the job's");
	is_int(step_of(&s, "vda", "slurm/job_7/step_0/user/task_0"), -1, "none");
	by_step(&s);
	many();
	job[1] = make_job(8);
	snprintf(job[1]->step[0].cgroup, sizeof(job[1]->step[0].cgroup), "slurm/job_8/step_0");
	snprintf(job[1]->step[1].cgroup, sizeof(job[1]->step[1].cgroup), "slurm/job_8/step_1");
	s.n_jobs = 2;
	ok(find(&o, &s, "step", "", &err) < 0 && strstr(err.text, "jobs 7 and 8 both have"),
	   "in two jobs: %s", err.text);
	ok(find(&o, &s, "step", "slurm/job_7/step_0/user/task_0", &err) == 0 && o.job == job[0] &&
		   o.own == &job[0]->step[0] && o.step == o.own,
	   "unless one is the caller's own");
	one = ask_for("step", 1);
	ok(refused(&s, &one, "jobs 7 and 8 both have a container step here: say which one (--job)"),
	   "a step of one number in two jobs");
	ledger_job_del_step(job[1], job[1]->step[1].inode);
	ok(owned_find(&o, &s, &one, "", &err) == 0 && o.own == &job[0]->step[1], "in one of them");
	again(&s);
	ledger_job_free(job[0]);
	ledger_job_free(job[1]);
	return tap_done();
}
