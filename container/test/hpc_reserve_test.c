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

/* What hpc_keep_one() leaves of OFFER. */
static const char *left(const char *offer, const char *outside, const char *request)
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
		return "what it says is not what it did";
	idset_format(&o, list, sizeof(list));
	return list;
}

/* What hpc_take() leaves of 0-7 when each container of REQUEST has the first CPU of a core of two,
 * from 0 on; with "!" where one has SCHED_HPC. */
static const char *after(const char *request)
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

/* What the real-time containers of a job leave of 0-7: a step on 0-1 and one on 2-3 with plans of
 * their own, and the job's on 4-5. */
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
	is(left("0-7", "0-7", "nodeos 1;c=a policy=hpc;"), "1-7",
	   "the whole node: its first CPU stays outside");
	is(left("0-7", "0-7", "nodeos 1;c=a policy=hpc;c=b cpus=2 policy=hpc;"), "1-7",
	   "of two such containers, too");
	is(left("4-7", "4-7", "nodeos 1;c=a policy=hpc;"), "5-7", "or of what others have left");
	is(left("4-7", "3-7", "nodeos 1;c=a policy=hpc;"), "4-7",
	   "not if there is another one outside");
	is(left("0-7", "0-7", "nodeos 1;c=a policy=hpc;c=b cpus=2;"), "0-7",
	   "not if a container has another policy");
	is(left("0-7", "0-7", "nodeos 1;c=a policy=fifo;"), "0-7", "not with other policies");
	is(left("3", "3", "nodeos 1;c=a policy=hpc;"), "", "the last one is not given away");
	is(left("3", "", "nodeos 1;c=a policy=hpc;"), "3", "none outside: nothing to keep");
	is(after("nodeos 1;c=a cpus=1;c=b cpus=1 policy=batch;"), "0-7",
	   "fair containers take nothing");
	is(after("nodeos 1;c=a policy=fifo;"), "1-7", "a real-time one its CPUs");
	is(after("nodeos 1;c=a partition=root;"), "2-7", "a partition whole cores");
	is(after("nodeos 1;c=a cpus=1;c=b cpus=1 partition=isolated;c=d cpus=1 policy=rr;"),
	   "0-1,5-7", "each its own");
	is(left_of_job(0), "6-7", "real time of a job: its plan's, and its steps'");
	is(left_of_job(2), "2-3,6-7", "but for one step's");
	is(left_of_job(9), "2-3,6-7", "and for what is fair");
	conf.default_policy = POLICY_HPC;
	is(left("0-7", "0-7", "nodeos 1;c=a;"), "1-7", "the site's default policy counts");
	return tap_done();
}
