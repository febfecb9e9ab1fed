/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a step may do when the ledger does not take its entry. */
#include <inttypes.h>

#include "base/test/tap.h"
#include "container/test/ledger_fixture.h"
#include "launch/prepare_impl.h"

#define UID 1000
#define JOB 7
#define TASKS 1 /* ranks of a step */

static const char request_text[] = "nodeos 1;c=sim cpus=1;";
static struct request request;

/* A node that the kernel has divided, all of whose blocks are used: a job's share is of the home.
 */
static struct block home[] = { { .node = 0, .home = 0, .usable = 1u << 30, .present = 1u << 30 } };

/* Steps live as long as slurmstepd. */
static struct step *step[16];
static unsigned n_steps;

static struct step *new_step(const struct ledger_job *job, const char *container)
{
	static const uint32_t rank[TASKS];
	const struct step_input in = {
		.job_id = JOB,
		.step_id = 2000 + n_steps,
		.uid = UID,
		.n_ranks = TASKS,
		.global_rank = rank,
		.job_request = job->request,
		.conf_path = "/c",
		.helper_path = "/bin/false",
	};
	struct errbuf err = { 0 };
	struct step **s = &step[n_steps++];

	if (step_new(s, &in, &err) < 0)
		bail("%s", err.text);
	conf_defaults(&(*s)->conf);
	snprintf((*s)->conf.state_dir, sizeof((*s)->conf.state_dir), "%s", state);
	(*s)->cgroup_fd = root;
	(*s)->job_inode = job->inode;
	(*s)->step_inode = 1000000 + n_steps;
	(*s)->step_cpus = set_of("0");
	if (container && !((*s)->choice = calloc(1, sizeof(*(*s)->choice))))
		bail("out of memory");
	if (container && choice_parse((*s)->choice, container, &err) < 0)
		bail("%s", err.text);
	return *s;
}

/* The plan for S in the job's directory, and whether the ledger has the step then. */
static int plan(struct step *s, const struct ledger_job *job, bool *noted, struct errbuf *err)
{
	static struct node_view v;
	struct ledger_job *now = NULL;
	int rc;

	memset(&v, 0, sizeof(v));
	v.place.job_inode = job->inode;
	snprintf(v.place.job, sizeof(v.place.job), "%s", job->cgroup);
	snprintf(v.place.step, sizeof(v.place.step), "%s", job->cgroup);
	v.job_cpus = set_of("0");
	v.job_mems = set_of("0");
	v.rest_mems = v.job_mems;
	v.request = job->request ? &request : NULL;
	v.request_text = job->request;
	errclear(err);
	rc = prepare_plan_and_choose(s, &v, err);
	if (ledger_peek(state, job->inode, &now, NULL) < 0)
		bail("the entry cannot be read");
	*noted = now && ledger_job_step(now, s->step_inode);
	ledger_job_free(now);
	return rc;
}

/* The entry of a job in DIR with N steps that live. */
static struct ledger_job *write_job(const char *dir, unsigned n, bool planned, const char *share)
{
	struct ledger_job *job = job_in(dir, JOB, UID);
	struct planned_container *c;
	struct errbuf err = { 0 };
	struct ledger *l = NULL;
	struct idset cpu;

	if (planned) {
		job->request = strdup(request_text);
		job->plan = job_plan_new();
		cpu = set_of("0");
		job_plan_add_core(job->plan, &cpu);
		c = job_plan_add(job->plan, "sim");
		c->cpus = set_of("0");
		c->reserved = c->cpus;
		c->mems = set_of("0");
	}
	if (share)
		job->share = set_of(share);
	for (unsigned i = 0; i < n; i++) {
		struct ledger_step *s = ledger_job_add_step(job);

		s->inode = job->inode; /* a directory that is there */
		s->step_id = i;
		snprintf(s->cgroup, sizeof(s->cgroup), "%s", job->cgroup);
		ledger_step_set_places(s, CHOICE_NONE);
	}
	if (ledger_open(&l, state, root, 1, &err) < 0 || ledger_write(l, job, &err) < 0)
		bail("%s", err.text);
	ledger_close(l);
	return job;
}

static void divide(struct step *s)
{
	s->blocks = (struct blocks){ .on = true, .n = 1, .block = home, .homes = set_of("0") };
}

static void room(void)
{
	struct ledger_job *job = write_job("room", 1, false, NULL);
	struct step *s = new_step(job, NULL);
	struct errbuf err;
	bool noted;

	is_int(plan(s, job, &noted, &err), 0, "a step in no container is planned %s", err.text);
	ok(noted, "the ledger has it");
	is(step_warning(s), "", "no warning");
	s = new_step(job, NULL);
	divide(s);
	is_int(plan(s, job, &noted, &err), 0, "a step on a node with blocks is planned %s",
	       err.text);
	ok(noted && idset_equal(&s->shared->part[0].given.mems, &s->blocks.homes),
	   "the job has a share of home");
	ledger_job_free(job);
}

static void full(void)
{
	struct ledger_job *job = write_job("full", LEDGER_STEPS_MAX, false, NULL);
	struct step *s = new_step(job, NULL);
	const char *warning;
	struct errbuf err;
	bool noted;

	is_int(plan(s, job, &noted, &err), 0, "a job with 1,024 steps may have one more");
	warning = step_warning(s);
	ok(!noted && strstr(warning, "1025 steps"), "the warning names the bound: %s", warning);
	is(err.text, "", "the bound is no error then");
	s = new_step(job, NULL);
	divide(s);
	is_int(plan(s, job, &noted, &err), -1, "a step that memory is chosen for is refused: %s",
	       err.text);
	ok(!noted && err.code == LEDGER_BOUND, "the reason is the bound");
	is(step_warning(s), "", "no warning beside the error");
	ledger_job_free(job);

	job = write_job("full_share", LEDGER_STEPS_MAX, false, "0");
	s = new_step(job, NULL);
	divide(s);
	is_int(plan(s, job, &noted, &err), 0,
	       "where the job's share is noted, one more is planned %s", err.text);
	ok(!noted && *step_warning(s), "this one has a warning");
	ledger_job_free(job);

	job = write_job("full_plan", LEDGER_STEPS_MAX, true, NULL);
	is_int(plan(new_step(job, "sim"), job, &noted, &err), -1,
	       "a step in a container is refused: %s", err.text);
	is_int(plan(new_step(job, CHOICE_NONE), job, &noted, &err), 0,
	       "a step outside of the job's containers is planned %s", err.text);
	ledger_job_free(job);
}

/* A directory stands where the new entry is to be written. */
static void unwritable(void)
{
	struct ledger_job *job = write_job("unwritable", 1, false, NULL);
	char path[64];
	struct errbuf err;
	struct step *s = new_step(job, NULL);
	bool noted;

	snprintf(path, sizeof(path), "state/.job-%" PRIu64 ".new/x", job->inode);
	scratch_dir(path);
	is_int(plan(s, job, &noted, &err), -1, "an entry that cannot be written refuses a step: %s",
	       err.text);
	ok(!noted && strstr(err.text, "File exists"), "the reason is the system's");
	is(step_warning(s), "", "no warning");
	ledger_job_free(job);
}

static void warnings(void)
{
	struct ledger_job *job = write_job("warnings", 0, false, "0");
	struct errbuf one = { .text = "one" }, two = { .text = "two" }, none = { 0 };
	struct step *s = new_step(job, NULL);

	step_add_warning(s, &none);
	step_add_warning(s, &one);
	step_add_warning(s, &none);
	step_add_warning(s, &two);
	is(step_warning(s), "one; two", "a later warning keeps the one before");
	is(step_warning(s), "", "both are given once");
	ledger_job_free(job);
}

int main(void)
{
	struct errbuf err = { 0 };

	ledger_fixture();
	if (request_parse(&request, request_text, &err) < 0)
		bail("%s", err.text);
	room();
	full();
	unwritable();
	warnings();
	close(root);
	return tap_done();
}
