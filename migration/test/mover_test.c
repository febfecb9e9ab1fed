/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A rank moves, in a process of its own. Plain files replace the cgroups, and list no threads.
 */
#include "migration/mover.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/test/tap.h"
#include "container/test/ledger_fixture.h"
#include "migration/test/cores.h"

static struct observed_domain domain[2];
static struct observed_step step;
static struct observed_rank rank[2];
static struct observed_node node = {
	.n_domains = 2,
	.domain = domain,
	.n_steps = 1,
	.step = &step,
};
static struct conf conf = {
	.helper_timeout = 5,
	.contention = { .policy = CONTENTION_DINO, .when = CONTENTION_WHEN_ALWAYS, .min_move = 10 }
};

/* Add rank I of the step, a devil on CPU I, to the entry, the cgroups and the observation. */
static void make_rank(struct ledger_step *s, unsigned i)
{
	struct ledger_rank *r = ledger_step_add_rank(s);
	char path[128];

	snprintf(r->task, sizeof(r->task), "task_%u", i);
	strcpy(r->place, "sim");
	idset_zero(&r->cpus);
	idset_add(&r->cpus, i);
	snprintf(path, sizeof(path), "job_7/step_0/user/%s", r->task);
	cgroup_dir(path);
	snprintf(path, sizeof(path), "cg/job_7/step_0/user/%s/cpuset.cpus", r->task);
	scratch_file(path, "0-3");
	snprintf(path, sizeof(path), "cg/job_7/step_0/user/%s/cgroup.threads", r->task);
	scratch_file(path, "");
	strcpy(rank[i].task, r->task);
	strcpy(rank[i].container, "sim");
	rank[i].cpus = r->cpus;
	rank[i].state.class = RANK_DEVIL;
}

/* A container on CPUs 0-3, of which 0-1 and 2-3 are a domain each, with two devils on CPUs 0-1. */
static void make_job(void)
{
	struct ledger_job *job = job_in("job_7", 7, 0);
	struct errbuf err = { 0 };
	struct planned_container *c;
	struct ledger_step *s;
	struct ledger *l;

	job->request = strdup("nodeos 1;c=sim cpus=4;");
	job->plan = plan_of_cores(4);
	c = job_plan_add(job->plan, "sim");
	c->cpus = c->reserved = set_of("0-3");
	c->mems = set_of("0");
	c->asked = 4;
	s = ledger_job_add_step(job);
	s->inode = cgroup_dir("job_7/step_0");
	s->ranks = 2;
	strcpy(s->cgroup, "job_7/step_0");
	ledger_step_set_places(s, "sim");
	step = (struct observed_step){
		.job = 7, .inode = s->inode, .contained = true, .n = 2, .rank = rank
	};
	for (unsigned i = 0; i < 2; i++)
		make_rank(s, i);
	scratch_file("cg/job_7/step_0/user/cpuset.cpus", "0-3");
	scratch_file("cg/job_7/cgroup.events", "populated 1\n");
	scratch_file("cg/job_7/step_0/cgroup.events", "populated 1\n");
	if (ledger_open(&l, state, root, 5, &err) < 0 || ledger_write(l, job, &err) < 0)
		bail("%s", err.text);
	ledger_close(l);
	ledger_job_free(job);
	domain[0].cpus = set_of("0-1");
	domain[1].cpus = set_of("2-3");
}

/* Call mover_check() until it returns true, for 10 s at most. */
static bool wait_for_move(struct mover *m, struct errbuf *bad)
{
	for (unsigned i = 0; i < 1000; i++) {
		if (mover_check(m, &node, bad))
			return true;
		if (*bad->text)
			return false;
		usleep(10000);
	}
	return false;
}

int main(void)
{
	struct mover_host host;
	struct errbuf bad = { 0 };
	struct mover *m;

	ledger_fixture();
	strcpy(conf.state_dir, state);
	make_job();
	host = (struct mover_host){ .cgroup_fd = root,
				    .run_fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
	m = mover_new(&host);
	if (!m || host.run_fd < 0)
		bail("no mover");
	ok(!mover_check(m, &node, &bad), "mover_check: asks for no further look before a move");
	mover_decide(m, &node, &conf, &bad);
	is(bad.text, "", "mover_decide: succeeds");
	ok(wait_for_move(m, &bad), "mover_check: asks for a further look when a rank has moved%s",
	   bad.text);
	ok(idset_subset(&rank[1].cpus, &domain[1].cpus) && rank[1].domain == 1 &&
		   rank[1].moves == 1 && rank[0].moves == 0,
	   "mover_check: the observation has the new CPU of the second devil");
	is(step.n_placings ? step.placing[0].why : "", "ranks move",
	   "mover_check: the step has the reason of the move");
	mover_decide(m, &node, &conf, &bad);
	is(bad.text, "", "mover_decide: succeeds after the move");
	is(step.placing[0].why, "nothing to do: each rank is in a domain that suits it",
	   "mover_decide: has nothing to do after the move");
	ok(!mover_check(m, &node, &bad),
	   "mover_check: asks for no further look after the last one");
	mover_free(m);
	free(step.placing);
	close(host.run_fd);
	return tap_done();
}
