/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/owned.h"

#include "topology/test/tap.h"

/* Two step containers of one name, as all of options alone have, and a container of the job plan. */
static struct ledger_job *make_job(uint32_t id)
{
	static const char *const name[] = { "sim", "step", "step" };
	struct cgroup_place place = { .job = "slurm/job_7", .job_inode = id };
	struct ledger_job *job = ledger_job_new(&place, id, 1000);

	for (unsigned i = 0; i < 3; i++) {
		struct node_plan *p = node_plan_new();
		struct ledger_step *s;

		if (!p || !node_plan_add(p, name[i]))
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

/* The step whose container NAME is found, asked from CGROUP; -1: none. */
static int step_of(const struct node_state *s, const char *name, const char *cgroup)
{
	struct errbuf err = { "" };
	struct owned o;

	if (owned_find(&o, s, name, cgroup, &err) < 0) {
		diag("%s", err.text);
		return -1;
	}
	return o.own ? (int)o.own->step_id : 99;
}

/* What was found stays what is meant, though there are others of the name now. */
static void again(const struct node_state *s)
{
	struct ledger_job *job = s->job[0];
	struct errbuf err = { "" };
	struct owned o;

	ok(owned_find_again(&o, s, "step", job->step[0].inode, &err) == 0 && o.own == &job->step[0] && o.step == o.own && o.job == job, "the first step's again");
	ok(owned_find_again(&o, s, "sim", job->inode, &err) == 0 && !o.own && o.plan == job->plan, "the job's again");
	job->plan->container[0].deleted = true;
	ok(owned_find_again(&o, s, "sim", job->inode, &err) < 0 && strstr(err.text, "container sim of job 7 was deleted"), "deleted meanwhile: %s", err.text);
	ledger_job_del_step(job, job->step[0].inode);
	ok(owned_find_again(&o, s, "step", 101, &err) < 0 && strstr(err.text, "container step has ended meanwhile"), "its step has ended: %s", err.text);
}

int main(void)
{
	struct ledger_job *job[2] = { make_job(7), NULL };
	struct node_state s = { .n_jobs = 1, .job = job };
	struct errbuf err = { "" };
	struct owned o;

	is_int(step_of(&s, "step", ""), 1, "asked from elsewhere: the last step's");
	is_int(step_of(&s, "step", "slurm/job_7/step_0/user/task_0"), 0, "a rank of the first step: its own");
	is_int(step_of(&s, "step", "slurm/job_7/step_1/user/task_3"), 1, "one of the second: its own");
	is_int(step_of(&s, "step", "slurm/job_7/step_10/user/task_3"), 1, "of a step whose name begins so: the last one's");
	is_int(step_of(&s, "step", "slurm/job_7/step_0"), 0, "the step's directory itself");
	is_int(step_of(&s, "sim", "slurm/job_7/step_0/user/task_0"), 99, "the job's");
	is_int(step_of(&s, "vda", "slurm/job_7/step_0/user/task_0"), -1, "none");
	job[1] = make_job(8);
	snprintf(job[1]->step[0].cgroup, sizeof(job[1]->step[0].cgroup), "slurm/job_8/step_0");
	snprintf(job[1]->step[1].cgroup, sizeof(job[1]->step[1].cgroup), "slurm/job_8/step_1");
	s.n_jobs = 2;
	ok(owned_find(&o, &s, "step", "", &err) < 0 && strstr(err.text, "jobs 7 and 8 both have"), "in two jobs: %s", err.text);
	ok(owned_find(&o, &s, "step", "slurm/job_7/step_0/user/task_0", &err) == 0 && o.job == job[0] && o.own == &job[0]->step[0] && o.step == o.own,
	   "unless one is the caller's own");
	again(&s);
	ledger_job_free(job[0]);
	ledger_job_free(job[1]);
	return tap_done();
}
