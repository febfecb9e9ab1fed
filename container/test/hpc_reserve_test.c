/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/test/tap.h"
#include "container/hpc_reserve.h"

static struct conf conf;

static struct idset set_of(const char *list)
{
	struct errbuf err;
	struct idset s;

	idset_zero(&s);
	if (*list)
		idset_parse(&s, list, &err);
	return s;
}

/* Return the CPUs of OFFER that hpc_keep_one() leaves in it. */
static const char *offer_left(const char *offer, const char *outside, const char *request)
{
	static char list[256];
	static struct request r;
	struct idset o = set_of(offer), out = set_of(outside);
	struct errbuf err = { 0 };
	unsigned before;
	bool kept;

	if (request_parse(&r, request, &err) < 0)
		return "bad request";
	before = idset_count(&o);
	kept = hpc_keep_one(&o, &out, &r, &conf, false);
	if (kept != (idset_count(&o) + 1 == before))
		return "the result contradicts the change";
	idset_format(&o, list, sizeof(list));
	return list;
}

/*
 * Return the CPUs of 0-7 that hpc_take() leaves. Container I of REQUEST has CPU 2 * I, the first
 * CPU of a core. "!" follows if a container has SCHED_HPC.
 */
static const char *cpus_left(const char *request)
{
	static char list[256];
	static struct request r;
	struct idset out = set_of("0-7");
	struct job_plan *p = job_plan_new();
	struct errbuf err = { 0 };
	size_t used;

	if (!p || request_parse(&r, request, &err) < 0)
		return "bad request";
	for (unsigned i = 0; i < r.n; i++) {
		struct planned_container *c = job_plan_add(p, r.container[i].name);

		idset_add(&c->cpus, 2 * i);
		idset_add(&c->reserved, 2 * i);
		idset_add(&c->reserved, 2 * i + 1);
	}
	used = hpc_take(&out, &r, p, &conf);
	idset_format(&out, list + used, sizeof(list) - used);
	if (used)
		list[0] = '!';
	job_plan_free(p);
	return list;
}

/*
 * Return the CPUs of 0-7 that the real-time containers of a job leave. Two steps have their own
 * plans, on CPUs 0-1 and 2-3; the job's plan has CPUs 4-5.
 */
static const char *left_of_job(uint64_t my_step)
{
	static struct errbuf err;
	static char list[256], fifo[] = "nodeos 1;c=a cpus=2 policy=fifo;",
			       fair[] = "nodeos 1;c=a cpus=2;";
	static const char *const cpus[] = { "4-5", "0-1", "2-3" };
	struct job_plan *p[3];
	struct ledger_step step[2] = { { .inode = 1, .request = fifo },
				       { .inode = 2, .request = fifo } };
	struct ledger_job job = { .request = fifo, .step = step, .n_steps = 2 };
	struct idset out = set_of("0-7");

	for (unsigned i = 0; i < 3; i++) {
		p[i] = job_plan_new();
		job_plan_add(p[i], "a")->reserved = set_of(cpus[i]);
	}
	job.plan = p[0];
	step[0].plan = p[1];
	step[1].plan = p[2];
	if (my_step == 9)
		step[1].request = fair;
	if (realtime_take_job(&out, &job, my_step, &conf, &err) < 0)
		return err.text;
	for (unsigned i = 0; i < 3; i++)
		job_plan_free(p[i]);
	idset_format(&out, list, sizeof(list));
	return list;
}

int main(void)
{
	conf_defaults(&conf);
	is(offer_left("0-7", "0-7", "nodeos 1;c=a policy=hpc;"), "1-7",
	   "hpc_keep_one: keeps the first CPU of a whole node outside");
	is(offer_left("0-7", "0-7", "nodeos 1;c=a policy=hpc;c=b cpus=2 policy=hpc;"), "1-7",
	   "hpc_keep_one: keeps one CPU outside of two hpc containers");
	is(offer_left("4-7", "4-7", "nodeos 1;c=a policy=hpc;"), "5-7",
	   "hpc_keep_one: keeps one of the CPUs that other jobs leave");
	is(offer_left("4-7", "3-7", "nodeos 1;c=a policy=hpc;"), "4-7",
	   "hpc_keep_one: keeps no CPU if OUTSIDE has a CPU that is not in OFFER");
	is(offer_left("0-7", "0-7", "nodeos 1;c=a policy=hpc;c=b cpus=2;"), "0-7",
	   "hpc_keep_one: keeps no CPU if one container has another policy");
	is(offer_left("0-7", "0-7", "nodeos 1;c=a policy=fifo;"), "0-7",
	   "hpc_keep_one: keeps no CPU for policy fifo");
	is(offer_left("3", "3", "nodeos 1;c=a policy=hpc;"), "",
	   "hpc_keep_one: keeps even the only CPU");
	is(offer_left("3", "", "nodeos 1;c=a policy=hpc;"), "3",
	   "hpc_keep_one: keeps no CPU if OUTSIDE is empty");
	is(cpus_left("nodeos 1;c=a cpus=1;c=b cpus=1 policy=batch;"), "0-7",
	   "hpc_take: containers with fair policies take no CPU");
	is(cpus_left("nodeos 1;c=a policy=fifo;"), "1-7",
	   "hpc_take: a real-time container takes its CPUs");
	is(cpus_left("nodeos 1;c=a partition=root;"), "2-7",
	   "hpc_take: a partition takes whole cores");
	is(cpus_left("nodeos 1;c=a cpus=1;c=b cpus=1 partition=isolated;c=d cpus=1 policy=rr;"),
	   "0-1,5-7", "hpc_take: each container takes its own CPUs");
	is(left_of_job(0), "6-7",
	   "realtime_take_job: takes the CPUs of the job's plan and of its steps");
	is(left_of_job(2), "2-3,6-7", "realtime_take_job: ignores the step MY_STEP");
	is(left_of_job(9), "2-3,6-7", "realtime_take_job: ignores steps with fair policies");
	conf.default_policy = POLICY_HPC;
	is(offer_left("0-7", "0-7", "nodeos 1;c=a;"), "1-7",
	   "hpc_keep_one: a container without a policy has the site's default policy");
	return tap_done();
}
