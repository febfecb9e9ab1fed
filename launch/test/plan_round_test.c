/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When containers are made, a step checks whether its job may have them. A step outside of
 * containers continues if the ledger is full.
 */
#include <inttypes.h>

#include "base/test/tap.h"
#include "container/test/ledger_fixture.h"
#include "launch/prepare_impl.h"

#define JOB 7
#define TASKS 1 /* ranks of a step */

static const char request_text[] = "nodeos 1;c=sim cpus=1;";
static struct request request;

/* A node that the kernel has divided, with all blocks in use: a job's share is on the home. */
static struct block home[] = { { .node = 0, .home = 0, .usable = 1u << 30, .present = 1u << 30 } };

static struct {
	unsigned calls;
	bool away, locked_out;
	const char *account;
} slurmctld;

/* Takes the place of slurmctld. The ledger must be unlocked while this runs. */
static int fake_load_job(struct step_job *out, uint32_t job_id, uid_t uid, struct errbuf *err)
{
	struct ledger *l = NULL;

	(void)job_id;
	(void)uid;
	slurmctld.calls++;
	if (ledger_open(&l, state, root, 0, err) < 0)
		slurmctld.locked_out = true;
	ledger_close(l);
	if (slurmctld.away)
		return errprintf(err, "slurmctld does not answer");
	snprintf(out->account, sizeof(out->account), "%s", slurmctld.account);
	return 0;
}

static char helper[128]; /* script that plans as requested, and creates the file "planned" */

static void make_helper(void)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "#!/bin/sh\n: >%s/planned\necho 'nodeos-plan 1\ncore 0\ncontainer sim cpus 0 "
		 "reserved 0 mems 0 asked 1 confined 0 shared 0 kinds dram\nend'\n",
		 scratch);
	scratch_file("helper", text);
	snprintf(helper, sizeof(helper), "%s/helper", scratch);
	chmod(helper, 0700);
}

/* Steps that live as long as this process, as in slurmstepd. */
static struct step *step[32];
static unsigned n_steps;

static struct step *new_step(const struct ledger_job *job, const char *container)
{
	static const uint32_t rank[TASKS];
	const struct step_input in = {
		.job_id = JOB,
		.step_id = 2000 + n_steps,
		.uid = getuid(),
		.gid = getgid(),
		.n_ranks = TASKS,
		.global_rank = rank,
		.job_request = job->request,
		.conf_path = "/c",
		.load_job = fake_load_job,
		.helper_path = helper,
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

/* Plan S in the job's directory. *NOTED: whether the ledger has the step afterwards. */
static int plan_step(struct step *s, const struct ledger_job *job, bool *noted, struct errbuf *err)
{
	static struct node_view v;
	struct ledger_job *now = NULL;
	int rc;

	memset(&v, 0, sizeof(v));
	v.place.job_inode = job->inode;
	snprintf(v.place.job, sizeof(v.place.job), "%s", job->cgroup);
	v.place.step_inode = s->step_inode;
	snprintf(v.place.step, sizeof(v.place.step), "%s", job->cgroup);
	v.job_cpus = set_of("0");
	v.job_mems = set_of("0");
	v.rest_mems = v.job_mems;
	v.request = job->request ? &request : NULL;
	v.request_text = job->request;
	v.of_step = !s->in.job_request;
	errclear(err);
	rc = prepare_plan_and_choose(s, &v, err);
	if (ledger_peek(state, job->inode, &now, NULL) < 0)
		bail("the entry cannot be read");
	*noted = now && ledger_job_step(now, s->step_inode);
	ledger_job_free(now);
	return rc;
}

/* Write the entry of a job in DIR with N live steps. */
static struct ledger_job *write_job(const char *dir, unsigned n, bool planned, const char *share)
{
	struct ledger_job *job = job_in(dir, JOB, getuid());
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

		s->inode = job->inode; /* an existing directory */
		s->step_id = i;
		snprintf(s->cgroup, sizeof(s->cgroup), "%s", job->cgroup);
		ledger_step_set_places(s, CHOICE_NONE);
	}
	if (ledger_open(&l, state, root, 1, &err) < 0 || ledger_write(l, job, &err) < 0)
		bail("%s", err.text);
	ledger_close(l);
	return job;
}

/*
 * Plan one step with a key that lists accounts; the request is the job's, or (OF_STEP) the step's
 * own.
 */
static int plan_one(const struct ledger_job *job, bool of_step, struct errbuf *err)
{
	struct step *s = new_step(job, "sim");
	static const char text[] = "allow_cpus = accounts: physics";
	char dir[sizeof(s->conf.state_dir)];
	bool noted;
	int rc;

	strcpy(dir, s->conf.state_dir);
	if (conf_parse(&s->conf, "/c", text, strlen(text), err) < 0)
		bail("%s", err->text);
	strcpy(s->conf.state_dir, dir);
	if (of_step) {
		s->in.step_request = s->in.job_request;
		s->in.job_request = NULL;
	}
	rc = plan_step(s, job, &noted, err);
	ok(noted == (rc == 0), "the ledger has the step if and only if it is planned");
	return rc;
}

static void test_plan_round_site(void)
{
	struct ledger_job *job = write_job("site", 0, false, "0");
	char planned[128];
	struct errbuf err;

	snprintf(planned, sizeof(planned), "%s/planned", scratch);

	job->request = strdup(request_text);
	slurmctld.account = "biology";
	is_int(plan_one(job, false, &err), -1, "a job of another account is refused");
	ok(strstr(err.text, "cpus is only for accounts physics"),
	   "the message names the allowed accounts: %s", err.text);
	is_int(slurmctld.calls, 1, "slurmctld is called when containers are made");
	ok(!slurmctld.locked_out, "the ledger is not locked during the call to slurmctld");
	ok(access(planned, F_OK) < 0, "no plan is made for a refused job");
	slurmctld.account = "physics";
	is_int(plan_one(job, false, &err), 0, "a job of an allowed account is planned %s",
	       err.text);
	is_int(slurmctld.calls, 2, "slurmctld is called once for an allowed job");
	ok(access(planned, F_OK) == 0, "a plan is made for an allowed job");
	slurmctld.away = true;
	is_int(plan_one(job, false, &err), 0,
	       "a step in the job's containers needs no slurmctld %s", err.text);
	is_int(slurmctld.calls, 2, "slurmctld is not called for a step in the job's containers");
	ledger_job_free(job);

	job = write_job("site_step", 0, false, "0");
	job->request = strdup(request_text);
	is_int(plan_one(job, true, &err), -1, "a step's own containers need slurmctld: %s",
	       err.text);
	slurmctld.away = false;
	is_int(plan_one(job, true, &err), 0, "a step's own containers are checked for each step %s",
	       err.text);
	is_int(slurmctld.calls, 4, "slurmctld is called for each step with its own containers");
	ledger_job_free(job);
}

static void divide_memory(struct step *s)
{
	s->blocks = (struct blocks){ .on = true, .n = 1, .block = home, .homes = set_of("0") };
}

static void test_entry(void)
{
	struct ledger_job *job = write_job("room", 1, false, NULL);
	struct step *s = new_step(job, NULL);
	struct errbuf err;
	bool noted;

	is_int(plan_step(s, job, &noted, &err), 0, "a step outside of containers is planned %s",
	       err.text);
	ok(noted, "the ledger has a step outside of containers");
	is(step_warning(s), "", "a step in the ledger gives no warning");
	s = new_step(job, NULL);
	divide_memory(s);
	is_int(plan_step(s, job, &noted, &err), 0, "a step on a node with blocks is planned %s",
	       err.text);
	ok(noted && idset_equal(&s->shared->part[0].given.mems, &s->blocks.homes),
	   "a job on a node whose blocks are all in use has the home as its share");
	ledger_job_free(job);
}

static void test_plan_round_full(void)
{
	struct ledger_job *job = write_job("full", LEDGER_STEPS_MAX, false, NULL);
	struct step *s = new_step(job, NULL);
	const char *warning;
	struct errbuf err;
	bool noted;

	is_int(plan_step(s, job, &noted, &err), 0, "a job with 1,024 steps may start one more");
	warning = step_warning(s);
	ok(!noted && strstr(warning, "1025 steps"),
	   "the warning for step 1,025 names the bound: %s", warning);
	is(err.text, "", "step 1,025 without an entry leaves no error");
	s = new_step(job, NULL);
	divide_memory(s);
	is_int(plan_step(s, job, &noted, &err), -1,
	       "step 1,025 is refused if memory is chosen for it: %s", err.text);
	ok(!noted && err.code == LEDGER_BOUND, "the refusal of step 1,025 has code LEDGER_BOUND");
	is(step_warning(s), "", "a refused step has an error and no warning");
	ledger_job_free(job);

	job = write_job("full_share", LEDGER_STEPS_MAX, false, "0");
	s = new_step(job, NULL);
	divide_memory(s);
	is_int(plan_step(s, job, &noted, &err), 0,
	       "step 1,025 is planned if the ledger has the job's share %s", err.text);
	ok(!noted && *step_warning(s),
	   "step 1,025 has a warning if it is planned without an entry");
	ledger_job_free(job);

	job = write_job("full_plan", LEDGER_STEPS_MAX, true, NULL);
	is_int(plan_step(new_step(job, "sim"), job, &noted, &err), -1,
	       "step 1,025 in a container is refused: %s", err.text);
	is_int(plan_step(new_step(job, CHOICE_NONE), job, &noted, &err), 0,
	       "step 1,025 outside of the job's containers is planned %s", err.text);
	ledger_job_free(job);
}

/* A directory has the name of the new entry's file, so the entry cannot be written. */
static void test_unwritable(void)
{
	struct ledger_job *job = write_job("unwritable", 1, false, NULL);
	char path[64];
	struct errbuf err;
	struct step *s = new_step(job, NULL);
	bool noted;

	snprintf(path, sizeof(path), "state/.job-%" PRIu64 ".new/x", job->inode);
	scratch_dir(path);
	is_int(plan_step(s, job, &noted, &err), -1,
	       "a step whose entry cannot be written is refused: %s", err.text);
	ok(!noted && strstr(err.text, "File exists"), "the message has the system's reason");
	is(step_warning(s), "", "an entry that cannot be written gives no warning");
	ledger_job_free(job);
}

static void test_warnings(void)
{
	struct ledger_job *job = write_job("warnings", 0, false, "0");
	struct errbuf one = { .text = "one" }, two = { .text = "two" }, none = { 0 };
	struct step *s = new_step(job, NULL);

	step_add_warning(s, &none);
	step_add_warning(s, &one);
	step_add_warning(s, &none);
	step_add_warning(s, &two);
	is(step_warning(s), "one; two", "step_add_warning: a later warning keeps the earlier one");
	is(step_warning(s), "", "step_warning: gives a text once");
	ledger_job_free(job);
}

int main(void)
{
	struct errbuf err = { 0 };

	ledger_fixture();
	if (request_parse(&request, request_text, &err) < 0)
		bail("%s", err.text);
	make_helper();
	test_plan_round_site();
	test_entry();
	test_plan_round_full();
	test_unwritable();
	test_warnings();
	close(root);
	return tap_done();
}
