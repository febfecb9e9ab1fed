/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Advice after a refusal of the planner: its code selects the advice, not its text. */
#include "launch/prepare_impl.h"

#include <stdlib.h>

#include "base/test/tap.h"

static struct idset set_of(const char *list)
{
	struct errbuf err = { 0 };
	struct idset s;

	if (idset_parse(&s, list, &err) < 0)
		abort();
	return s;
}

/* These texts contradict the codes that the cases have, so the advice must come from the code. */
static const char of_threads[] = "container a: needs 9 threads", of_mems[] = "no memory node";

/* A job or step on its node, and the advice for it; NULL: none. */
struct advice_case {
	const char *name;
	enum plan_refusal code;
	bool of_step, alone, kept_one, blocks;
	const char *job, *service, *service_mems, *held;
	const char *advice;
};

static const struct advice_case cases[] = {
	{ .name = "CPUs of a job",
	  .code = PLAN_NO_CPUS,
	  .advice = " (this job has CPUs 0-3 here; --exclusive or -c gives it more)" },
	{ .name = "CPUs of a whole node",
	  .code = PLAN_NO_CPUS,
	  .alone = true,
	  .advice = " (this job has CPUs 0-3, which are all that jobs can have here)" },
	{ .name = "CPUs of a whole node with a ServiceOS",
	  .code = PLAN_NO_CPUS,
	  .alone = true,
	  .service = "4,5",
	  .service_mems = "1",
	  .advice = " (2 threads of this node, CPUs 4-5, are kept for the ServiceOS)"
		    " (this job has CPUs 0-3, which are all that jobs can have here)" },
	{ .name = "CPUs of a step",
	  .code = PLAN_NO_CPUS,
	  .of_step = true,
	  .advice = " (this step has CPUs 0-3 free; srun -c gives it more)" },
	{ .name = "CPUs of a step on a whole node",
	  .code = PLAN_NO_CPUS,
	  .of_step = true,
	  .alone = true,
	  .advice = " (this step has CPUs 0-3, which are all that jobs can have here)" },
	{ .name = "policy hpc",
	  .code = PLAN_NO_CPUS,
	  .kept_one = true,
	  .advice = " (one CPU of the node stays outside of policy \"hpc\")"
		    " (this job has CPUs 0-3 here; --exclusive or -c gives it more)" },
	{ .name = "CPUs of the ServiceOS given by Slurm",
	  .code = PLAN_NO_CPUS,
	  .service = "3-4",
	  .advice = " (this job has CPUs 0-3; CPUs 3 are reserved for the system but slurm.conf "
		    "does not list them in CpuSpecList: ask your administrator to run nodeosctl "
		    "verify)" },
	{ .name = "CPUs of a node with blocks",
	  .code = PLAN_NO_CPUS,
	  .blocks = true,
	  .advice = " (this job has CPUs 0-3 here; --exclusive or -c gives it more)" },

	{ .name = "memory nodes",
	  .code = PLAN_NO_MEMS,
	  .alone = true,
	  .kept_one = true,
	  .advice = NULL },
	{ .name = "memory nodes with a ServiceOS",
	  .code = PLAN_NO_MEMS,
	  .alone = true,
	  .kept_one = true,
	  .service = "4-5",
	  .service_mems = "1",
	  .advice = " (memory nodes 1 are kept for the ServiceOS)" },
	{ .name = "blocks",
	  .code = PLAN_NO_MEMS,
	  .blocks = true,
	  .service = "4-5",
	  .service_mems = "1",
	  .advice = " (this node has blocks 2-3: programs can use 2048 MiB of them)" },
	{ .name = "blocks of other jobs",
	  .code = PLAN_NO_MEMS,
	  .blocks = true,
	  .held = "3",
	  .advice = " (blocks 3 belong to other jobs: with --gres=fgmn:N, if the site offers "
		    "it, a job waits for N blocks)" },
};

static struct block block[] = {
	{ .node = 2, .usable = 1u << 30 },
	{ .node = 3, .usable = 1u << 30 },
};

static void set_view(struct step *s, struct node_view *v, const struct advice_case *c)
{
	memset(s, 0, sizeof(*s));
	memset(v, 0, sizeof(*v));
	v->of_step = c->of_step;
	v->alone = c->alone;
	v->job_cpus = set_of("0-3");
	s->step_cpus = v->job_cpus;
	s->kept = c->kept_one ? "one CPU of the node stays outside of policy \"hpc\"" : NULL;
	s->service.cpus = set_of(c->service ? c->service : "");
	s->service.own_mems = c->service_mems != NULL;
	s->service.mems = set_of(c->service_mems ? c->service_mems : "");
	v->held.containers = set_of(c->held ? c->held : "");
	if (c->blocks)
		s->blocks = (struct blocks){
			.on = true, .n = 2, .block = block, .nodes = set_of("2-3")
		};
}

static void check_advice(const struct advice_case *c, const char *text)
{
	static struct step s;
	static struct node_view v;
	struct plan_input in = { .cpus = set_of("0-3") };
	struct errbuf err = { 0 };
	char want[1024];

	set_view(&s, &v, c);
	errcode(&err, (int)c->code, "%s", text);
	snprintf(want, sizeof(want), "%s%s", text, c->advice ? c->advice : "");
	is_int(prepare_append_available(&s, &v, &in, &err), -1,
	       "prepare_append_available, %s: refuses", c->name);
	is(err.text, want, "prepare_append_available, %s: gives the advice", c->name);
	is_int(err.code, (int)c->code, "prepare_append_available, %s: keeps the code", c->name);
}

/* For other refusals, more CPUs and memory nodes would not help. */
static void test_no_advice(void)
{
	struct advice_case c = {
		.alone = true,
		.kept_one = true,
		.blocks = true,
		.service = "3-4",
		.service_mems = "1",
		.held = "3",
	};
	char name[32];

	for (int code = PLAN_OK; code < PLAN_REFUSALS; code++) {
		if (code == PLAN_NO_CPUS || code == PLAN_NO_MEMS)
			continue;
		c.code = (enum plan_refusal)code;
		snprintf(name, sizeof(name), "without advice for code %d", code);
		c.name = name;
		check_advice(&c, of_threads);
		check_advice(&c, of_mems);
	}
}

/* Without any free CPU, the message gives the reason. */
static void test_none_free(void)
{
	struct advice_case c = { .of_step = true };
	static struct step s;
	static struct node_view v;
	struct errbuf err = { 0 };

	set_view(&s, &v, &c);
	prepare_refuse_no_cpu(&s, &v, &err);
	is(err.text, "no CPU of this step is free: other step containers of the job have them all",
	   "prepare_refuse_no_cpu: says that other steps have all CPUs");
	c.kept_one = true;
	set_view(&s, &v, &c);
	prepare_refuse_no_cpu(&s, &v, &err);
	is(err.text, "no CPU is free: one CPU of the node stays outside of policy \"hpc\"",
	   "prepare_refuse_no_cpu: says that the last CPU is kept for the system");
}

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_advice(&cases[i], cases[i].code == PLAN_NO_CPUS ? of_mems : of_threads);
	test_no_advice();
	test_none_free();
	return tap_done();
}
