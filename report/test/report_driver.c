/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nodeosctl report without root and Slurm, for test/schema_test.py: "report_driver json|text NODE
 * [KIND]..." prints its output on a node NODE with the jobs of KIND: "coupled" (a job plan of two
 * containers, this process as a rank in the first), "step" (a step container), "blocks" (memory
 * nodes are divided), "own" (as a user sees it).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/test/fixture.h"
#include "report/node_report.h"

static struct block block[4] = {
	{ .node = 0, .home = 0, .usable = 100 << 20, .present = 128 << 20 },
	{ .node = 1, .home = 0, .usable = 1 << 30, .present = 1 << 30 },
	{ .node = 2, .home = 0, .usable = 800 << 20, .present = 1 << 30 },
	{ .node = 3, .home = 0, .usable = 100 << 20, .present = 1 << 30 }
};

static void add_job(struct node_state *s, struct ledger_job *job)
{
	s->job = realloc(s->job, (s->n_jobs + 1) * sizeof(*s->job));
	if (!s->job)
		abort();
	s->job[s->n_jobs++] = job;
}

static void place(struct job_plan *p, const char *name, const char *cpus, const char *reserved,
		  const char *mems, bool confined)
{
	struct planned_container *c = job_plan_add(p, name);

	if (!c)
		abort();
	c->cpus = set_of(cpus);
	c->reserved = set_of(reserved);
	c->mems = set_of(mems);
	c->confined = confined;
	c->kinds = MEMORY_KIND_BIT(MEMORY_DRAM);
	c->asked = idset_count(&c->cpus);
	job_plan_add_why(c, "gets what it requests");
}

/* Return a copy of TEXT; exit if it is not a request, which would silently drop its containers. */
static char *request_of(const char *text)
{
	static struct request r;
	struct errbuf err;

	if (request_parse(&r, text, &err) < 0) {
		fprintf(stderr, "%s: %s\n", text, err.text);
		exit(1);
	}
	return strdup(text);
}

/* Add a step with one rank in CGROUP; the rank is this process. */
static struct ledger_step *add_step(struct ledger_job *job, uint32_t id, const char *cgroup,
				    const char *places)
{
	char path[256], pid[16];
	struct ledger_step *s;

	job->step = reallocarray(job->step, job->n_steps + 1u, sizeof(*s));
	if (!job->step)
		abort();
	s = &job->step[job->n_steps++];
	memset(s, 0, sizeof(*s));
	s->inode = 1000 + id;
	s->step_id = id;
	s->ranks = 1;
	snprintf(s->cgroup, sizeof(s->cgroup), "%s", cgroup);
	if (ledger_step_set_places(s, places) < 0)
		abort();
	snprintf(path, sizeof(path), "%.200s/user/task_0", cgroup);
	scratch_dir(path);
	snprintf(path, sizeof(path), "%.200s/user/task_0/cgroup.procs", cgroup);
	snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	scratch_file(path, pid);
	return s;
}

static struct ledger_job *new_job(uint32_t id, uid_t uid, const char *cgroup)
{
	struct ledger_job *job = calloc(1, sizeof(*job));

	if (!job)
		abort();
	job->inode = id;
	job->job_id = id;
	job->uid = uid;
	snprintf(job->cgroup, sizeof(job->cgroup), "%s", cgroup);
	return job;
}

static void coupled(struct node_state *s)
{
	struct ledger_job *job = new_job(12, 0, "job_12");
	struct ledger_step *both;

	job->request =
		request_of("nodeos 1;c=sim cpus=4 mems=2 policy=batch;c=vda smt=1 mems=1048576b "
			   "dimmap=67108864 dimmap_source=/tmp/x dimmap_policy=sieve "
			   "dimmap_fill=65536 dimmap_access=ro;c=gone cpus=2;");
	job->plan = job_plan_new();
	place(job->plan, "sim", "0-3", "0-3", "0-1", true);
	place(job->plan, "vda", "4,6", "4-7", "0", false);
	place(job->plan, "gone", "", "", "", false);
	job->plan->container[2].deleted = true;
	add_step(job, 0, "job_12/step_0", "sim");
	both = add_step(job, 1, "job_12/step_1", "sim,vda");
	both->placed = calloc(1, sizeof(*both->placed));
	both->n_placed = 1;
	snprintf(both->placed->task, sizeof(both->placed->task), "task_0");
	snprintf(both->placed->place, sizeof(both->placed->place), "vda");
	add_job(s, job);
}

static void step(struct node_state *s)
{
	struct ledger_job *job = new_job(13, 1, "job_13");
	struct ledger_step *own = add_step(job, 4, "job_13/step_4", "step");

	own->request = request_of(
		"nodeos 1;c=step cpus=2 policy=hpc prio=1 quantum=20 partition=isolated;");
	own->plan = job_plan_new();
	place(own->plan, "step", "8-9", "8-9", "1", false);
	job->share = set_of("1");
	add_job(s, job);
}

int main(int argc, char **argv)
{
	static struct node_state s;
	struct machine *m = NULL;
	struct errbuf err;

	if (argc < 3)
		return 2;
	scratch_make();
	conf_defaults(&s.conf);
	s.cgroup_fd = open(scratch, O_PATH | O_DIRECTORY);
	s.node_cpus = set_of("0-15");
	for (int i = 3; i < argc; i++) {
		if (strcmp(argv[i], "coupled") == 0) {
			coupled(&s);
		} else if (strcmp(argv[i], "step") == 0) {
			step(&s);
		} else if (strcmp(argv[i], "own") == 0) {
			s.own = true;
		} else if (strcmp(argv[i], "blocks") == 0) {
			s.blocks = (struct blocks){ .on = true,
						    .n = 4,
						    .block = block,
						    .homes = set_of("0"),
						    .nodes = set_of("1-2"),
						    .poor = set_of("2"),
						    .taken = set_of("3") };
			s.service = (struct service_set){ .cpus = set_of("14-15"),
							  .mems = set_of("0"),
							  .own_mems = true };
		} else {
			return 2;
		}
	}
	if (machine_load_synthetic(&m, "package:2 [numa(memory=4294967296)] core:4 pu:2", &err) < 0)
		abort();
	if (strcmp(argv[1], "json") == 0)
		node_report_json(stdout, &s, argv[2], m);
	else
		node_report_text(stdout, &s, argv[2]);
	machine_free(m);
	s.blocks.block = NULL; /* not from malloc */
	node_state_free(&s);
	return 0;
}
