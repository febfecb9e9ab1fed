/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/isolator.h"

#include <stdlib.h>

#include "base/json_out.h"
#include "base/test/fixture.h"
#include "base/test/tap.h"

static struct conf conf;

static const struct isolator_outcome *find(const struct isolator_outcome *o, unsigned n,
					   const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(o[i].isolator, name) == 0)
			return &o[i];
	return NULL;
}

static unsigned outcomes(struct isolator_outcome *o, const struct request *r,
			 const struct planned_container *got, const struct outcome_node *node)
{
	struct judged j = { .ask = &r->container[0], .got = got, .conf = &conf, .node = *node };

	return isolators_outcome(o, &j);
}

static void test_judges(void)
{
	struct isolator_outcome o[OUTCOMES_MAX];
	struct sched_given sched;
	struct outcome_node node = { .alone = true, .policy_known = true };
	struct planned_container got = { .name = "sim", .asked = 3, .confined = true };
	struct request r;
	struct errbuf err = { 0 };
	unsigned n;

	if (request_parse(&r, "nodeos 1;c=sim cpus=3 mems=1 policy=batch ignored=power;", &err) < 0)
		printf("Bail out! %s\n", err.text);
	got.cpus = got.reserved = set_of("0-3");
	got.mems = set_of("0");
	n = outcomes(o, &r, &got, &node);
	is_int(n, 3, "outcomes: container, scheduler and one ignored isolator have one each");
	is_int(find(o, n, "container")->outcome, OUTCOME_MODIFIED,
	       "outcomes: 3 threads rounded to 4 are modified");
	ok(strstr(find(o, n, "container")->reason, "3 asked, 4 given") != NULL,
	   "outcomes: the reason has the requested and the given number");
	is_int(find(o, n, "scheduler")->outcome, OUTCOME_ENFORCED,
	       "outcomes: policy batch is enforced");
	is_int(find(o, n, "power")->outcome, OUTCOME_IGNORED,
	       "outcomes: isolator power is ignored");
	got.asked = 2;
	got.cpus = set_of("0-1");
	n = outcomes(o, &r, &got, &node);
	is_int(find(o, n, "container")->outcome, OUTCOME_MODIFIED,
	       "outcomes: 2 threads instead of 3 after a resize are modified");
	is(find(o, n, "container")->reason, "cpus: 2 given, as it has been resized",
	   "the reason of a resized container is the resize");
	r.container[0].cpus = got.asked = 4;
	got.cpus = set_of("0-3");
	n = outcomes(o, &r, &got, &node);
	is_int(find(o, n, "container")->outcome, OUTCOME_ENFORCED,
	       "4 of 4 threads, alone on the node, are enforced");
	r.container[0].mems = 2;
	n = outcomes(o, &r, &got, &node);
	is(find(o, n, "container")->reason, "mems: 1 given, as it has been resized",
	   "1 memory node instead of 2 has the resize as its reason");
	is_int(find(o, n, "container")->outcome, OUTCOME_MODIFIED,
	       "1 memory node instead of 2 is modified");
	r.container[0].mems_kind = MEMS_SIZE;
	r.container[0].mems = 64 << 20;
	node.usable = 32 << 20;
	n = outcomes(o, &r, &got, &node);
	is(find(o, n, "container")->reason, "mems: 64 MiB asked, 32 MiB usable",
	   "32 MiB instead of 64 need no resize: the kernel may keep more for itself");
	node.usable = 96 << 20;
	n = outcomes(o, &r, &got, &node);
	is_int(find(o, n, "container")->outcome, OUTCOME_ENFORCED,
	       "whole blocks with more than the asked size are enforced");
	node.usable = 0;
	r.container[0].mems_kind = MEMS_COUNT;
	r.container[0].mems = 1;
	node.alone = false;
	n = outcomes(o, &r, &got, &node);
	is_int(find(o, n, "container")->outcome, OUTCOME_MODIFIED,
	       "memory nodes beside other jobs are modified");
	got.shared = true;
	got.kinds = MEMORY_KIND_BIT(MEMORY_DRAM);
	n = outcomes(o, &r, &got, &node);
	is(find(o, n, "container")->reason,
	   "mems: shared, another container uses some of these memory nodes (dram) too",
	   "the reason of shared memory nodes has their kind");
	is_int(find(o, n, "container")->outcome, OUTCOME_MODIFIED,
	       "shared memory nodes are modified");
	got.shared = false;
	got.kinds = MEMORY_KIND_BIT(MEMORY_HBM);
	node.alone = true;
	n = outcomes(o, &r, &got, &node);
	is(find(o, n, "container")->reason, "mems: memory of kind hbm",
	   "outcomes: the reason of memory of HBM alone has its kind");
	is_int(find(o, n, "container")->outcome, OUTCOME_ENFORCED,
	       "outcomes: memory of HBM alone is enforced");
	got.kinds = MEMORY_KIND_BIT(MEMORY_DRAM);
	n = outcomes(o, &r, &got, &node);
	is(find(o, n, "container")->reason, "", "DRAM alone has no reason");
	got.kinds = 0;
	node.alone = false;
	r.container[0].policy = POLICY_HPC;
	if (!policy_supported(POLICY_HPC)) {
		n = outcomes(o, &r, &got, &node);
		is_int(find(o, n, "scheduler")->outcome, OUTCOME_FAILED,
		       "the outcome of a policy that this kernel lacks is \"failed\"");
	}
	conf.hpc_fallback = POLICY_FIFO;
	r.container[0].priority = HPC_TOPO;
	outcome_sched(&sched, &r.container[0], &conf, true);
	if (!policy_supported(POLICY_HPC)) {
		is_int(sched.policy, POLICY_FIFO,
		       "hpc_fallback replaces a class that this kernel lacks");
		is_int(sched.priority, 1, "hpc_fallback has the lowest priority");
		is_int(sched.quantum, 0, "hpc_fallback has no quantum");
		n = outcomes(o, &r, &got, &node);
		is_int(find(o, n, "scheduler")->outcome, OUTCOME_MODIFIED,
		       "hpc_fallback is reported as modified");
		is(find(o, n, "scheduler")->reason,
		   "this kernel has no scheduling policy \"hpc\": \"fifo\" instead (hpc_fallback)",
		   "the reason of hpc_fallback names both policies");
	}
	outcome_sched(&sched, &r.container[0], &conf, false);
	ok(sched.policy == POLICY_HPC && sched.priority == HPC_TOPO &&
		   sched.quantum == HPC_QUANTUM_DEFAULT && !sched.fallback,
	   "on another kernel hpc has a quantum, for ranks with more threads than CPUs");
	r.container[0].quantum_named = true;
	outcome_sched(&sched, &r.container[0], &conf, false);
	is_int(sched.quantum, 0, "a quantum of 0 that is asked stays 0");
	r.container[0].policy = POLICY_UNSET;
	r.container[0].quantum_named = false;
	r.container[0].priority = 0;
	conf.default_policy = POLICY_HPC;
	outcome_sched(&sched, &r.container[0], &conf, false);
	ok(sched.policy == POLICY_HPC && sched.priority == HPC_TOPO,
	   "default_policy = hpc is topology-aware, too");
	conf.default_policy = POLICY_OTHER;
	conf.hpc_fallback = POLICY_UNSET;
	r.container[0].policy = POLICY_HPC;
	node.policy_known = false;
	n = outcomes(o, &r, &got, &node);
	is_int(find(o, n, "scheduler")->outcome, OUTCOME_ENFORCED,
	       "a dry run does not judge by this kernel");
}

static void test_site_rules(void)
{
	struct request r;
	struct errbuf err = { 0 };

	if (request_parse(&r, "nodeos 1;c=sim policy=fifo prio=60;", &err) < 0)
		printf("Bail out! %s\n", err.text);
	is_int(isolators_allowed(&r.container[0], &conf, "/c", &err), -1,
	       "fifo is not allowed by default");
	ok(strstr(err.text, "allowed: other, batch, idle") != NULL,
	   "the message has the allowed policies: %s", err.text);
	conf.allow_policies |= 1u << POLICY_FIFO;
	is_int(isolators_allowed(&r.container[0], &conf, "/c", &err), -1,
	       "priority 60 is refused above max_rt_priority");
	ok(strstr(err.text, "50") != NULL, "the message has the limit: %s", err.text);
	r.container[0].priority = 0;
	is_int(isolators_allowed(&r.container[0], &conf, "/c", &err), 0,
	       "priority 0 is allowed as the lowest, 1");
}

static void test_outcome_json(void)
{
	struct json_out j = { 0 };
	struct idset s = set_of("0-1");
	char *text;
	size_t size;

	j.f = open_memstream(&text, &size);
	jout_open(&j, NULL, '{');
	jout_string(&j, "a", "q\"\\\n");
	jout_open(&j, "b", '[');
	jout_close(&j, ']');
	jout_set(&j, "c", &s);
	jout_lines(&j, "d", "x\ny");
	jout_string(&j, "e", NULL);
	jout_close(&j, '}');
	fclose(j.f);
	is(text,
	   "{\n  \"a\": \"q\\\"\\\\\\u000a\",\n  \"b\": [],\n  \"c\": \"0-1\",\n  \"d\": [\n    "
	   "\"x\",\n    \"y\"\n  ],\n  \"e\": null\n}\n",
	   "JSON is indented and escaped as specified");
	free(text);
}

int main(void)
{
	conf_defaults(&conf);
	test_judges();
	test_site_rules();
	test_outcome_json();
	return tap_done();
}
