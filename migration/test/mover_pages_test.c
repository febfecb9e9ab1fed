/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The choice of the rank whose pages are moved next: with contention_pages = never, the report
 * names the chosen rank. The test writes its own memory.numa_stat.
 */
#include "migration/mover_pages.h"

#include <string.h>
#include <unistd.h>

#include "base/test/tap.h"
#include "container/test/ledger_fixture.h"
#include "counters/sampling.h"

#define MIB ((unsigned long long)1 << 20)

static struct observed_domain domain[2];
static struct observed_rank rank[3];
static struct observed_step step = {
	.job = 7, .uid = 1000, .gid = 1000, .n = 3, .rank = rank, .policy = CONTENTION_UNSET
};
static struct observed_node node = {
	.n_domains = 2,
	.domain = domain,
	.n_steps = 1,
	.step = &step,
};
static struct conf conf;
/* page faults, which any machine samples, for misses */
static const struct events_row faults = {
	.name = "soft", .n_sample = 1, .sample = { .config = 2 }, .sample_pmu = "software"
};
static const struct events_row *row;
static char said[OBSERVED_WHY_MAX]; /* the whole note of the last chosen() */
static struct ledger_job *job;

/* Add rank N, on CPU 0, with FIRST and SECOND MiB of memory on nodes 0 and 1. */
static void add_rank(struct ledger_step *s, unsigned n, unsigned first, unsigned second)
{
	struct ledger_rank *r = ledger_step_add_rank(s);
	char path[128], text[128];

	snprintf(r->task, sizeof(r->task), "task_%u", n);
	strcpy(r->place, "sim");
	r->cpus = set_of("0");
	rank[n] = (struct observed_rank){ .cpus = r->cpus, .domain = 0 };
	rank[n].state.class = RANK_TURTLE;
	snprintf(rank[n].task, sizeof(rank[n].task), "task_%u", n);
	snprintf(path, sizeof(path), "job_7/step_0/user/task_%u", n);
	cgroup_dir(path);
	snprintf(path, sizeof(path), "cg/job_7/step_0/user/task_%u/memory.numa_stat", n);
	snprintf(text, sizeof(text), "anon N0=%llu N1=%llu\n", first * MIB, second * MIB);
	scratch_file(path, text);
}

static void make_job(void)
{
	struct planned_container *c;
	struct ledger_step *s;

	domain[0] = (struct observed_domain){ .cpus = set_of("0-3"), .mems = set_of("0") };
	domain[1] = (struct observed_domain){ .cpus = set_of("4-7"), .mems = set_of("1") };
	conf.contention.pages = CONTENTION_PAGES_NEVER;
	conf.contention.policy = CONTENTION_OBSERVE;
	job = job_in("job_7", 7, 1000);
	job->request = strdup("nodeos 1;c=sim cpus=8 contention=dino;");
	job->plan = job_plan_new();
	c = job_plan_add(job->plan, "sim");
	c->cpus = c->reserved = set_of("0-7");
	c->mems = set_of("0-1");
	s = ledger_job_add_step(job);
	s->inode = step.inode = cgroup_dir("job_7/step_0");
	strcpy(s->cgroup, "job_7/step_0");
	add_rank(s, 0, 90, 10);
	add_rank(s, 1, 60, 40);
	add_rank(s, 2, 50, 50);
}

/* The chosen task, or "none". */
static const char *chosen(void)
{
	const struct decide_input in = { .job = job, .node = &node, .conf = &conf };
	struct mover_pages *p = mover_pages_new(root);
	static char text[OBSERVED_WHY_MAX];
	struct errbuf bad = { 0 };

	strcpy(text, "none");
	*said = '\0';
	step.placing = NULL;
	step.n_placings = 0;
	mover_pages_begin(p, &conf, row);
	mover_pages_see(p, job);
	mover_pages_consider(p, &in, &job->plan->container[0]);
	mover_pages_check(p, &node, &bad);
	for (unsigned i = 0; i < step.n_placings; i++) {
		strcpy(said, step.placing[i].pages);
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(step.placing[i].pages, ":"),
			 step.placing[i].pages);
	}
	free(step.placing);
	mover_pages_free(p);
	return text;
}

/* Task 1 is the process of this test, and is chosen. */
static void test_samples(void)
{
	struct sampling *s = NULL;
	struct errbuf err = { 0 };
	char pid[32];

	if (sampling_open(&s, &faults, "", &err) < 0) {
		skip(4, "%s", err.text);
		return;
	}
	sampling_close(s);
	snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	scratch_file("cg/job_7/step_0/user/task_1/cgroup.threads", pid);
	row = &faults;
	conf.contention.pages_around = 16;
	is(chosen(), "task_1", "contention_pages_around does not change which rank is chosen");
	is(said, "task_1: not moved: contention_pages is never",
	   "a rank whose pages may not be moved is not sampled");
	conf.contention.pages = CONTENTION_PAGES_ALWAYS;
	is(chosen(), "task_1", "contention_pages_around: a rank is chosen");
	is(said, "task_1: its misses are being sampled",
	   "contention_pages_around: the misses of the chosen rank are sampled first");
	conf.contention.pages = CONTENTION_PAGES_NEVER;
	conf.contention.pages_around = 0;
}

int main(void)
{
	ledger_fixture();
	make_job();
	is(chosen(), "task_2", "the rank with the most memory on another node is chosen");
	rank[1].state.class = RANK_DEVIL;
	is(chosen(), "task_1", "a devil is chosen before a turtle with more memory elsewhere");
	rank[0].domain = 1;
	rank[0].cpus = set_of("4");
	rank[0].state.class = RANK_DEVIL;
	is(chosen(), "task_0", "the home of a rank that its user has bound is where it runs");
	rank[0].domain = OBSERVED_NO_DOMAIN;
	rank[0].cpus = set_of("3-4");
	is(chosen(), "task_1", "a rank in two domains has no home");
	test_samples();
	step.policy = CONTENTION_OBSERVE;
	is(chosen(), "none", "the pages of a step with --nodeos-contention=observe stay");
	step.policy = CONTENTION_DINO;
	is(chosen(), "task_1", "the pages of a step with --nodeos-contention=dino follow");
	step.policy = CONTENTION_UNSET;
	free(job->request);
	job->request = strdup("nodeos 1;c=sim cpus=8;");
	is(chosen(), "none", "the pages of a container that is not placed stay");
	step.policy = CONTENTION_DINO;
	step.uid = 0;
	is(chosen(), "none", "the pages of root's ranks stay");
	step.uid = 1000;
	job->step[0].launching = true;
	is(chosen(), "none", "the pages of a step that is being launched stay");
	ledger_job_free(job);
	return tap_done();
}
