/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/isolator.h"

#include <stdlib.h>

#include "base/json_out.h"
#include "base/test/fixture.h"
#include "base/test/tap.h"

static struct conf conf;

static const struct isolator_outcome *find_outcome(const struct isolator_outcome *o, unsigned n,
						   const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(o[i].isolator, name) == 0)
			return &o[i];
	return NULL;
}

static unsigned judge(struct isolator_outcome *o, const struct request *r,
		      const struct planned_container *got, const struct outcome_node *node)
{
	struct reported_container j = {
		.ask = &r->container[0], .got = got, .conf = &conf, .node = *node
	};

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
	n = judge(o, &r, &got, &node);
	is_int(n, 3,
	       "outcomes: container, scheduler and an ignored isolator have one outcome each");
	is_int(find_outcome(o, n, "container")->outcome, OUTCOME_MODIFIED,
	       "outcomes: 3 requested CPUs rounded up to 4 count as modified");
	ok(strstr(find_outcome(o, n, "container")->reason, "3 asked, 4 given") != NULL,
	   "outcomes: the reason gives the requested and the given number");
	is_int(find_outcome(o, n, "scheduler")->outcome, OUTCOME_ENFORCED,
	       "outcomes: policy batch is enforced");
	is_int(find_outcome(o, n, "power")->outcome, OUTCOME_IGNORED,
	       "outcomes: isolator power is ignored");
	got.asked = 2;
	got.cpus = set_of("0-1");
	n = judge(o, &r, &got, &node);
	is_int(find_outcome(o, n, "container")->outcome, OUTCOME_MODIFIED,
	       "outcomes: 2 CPUs instead of 3 after a resize count as modified");
	is(find_outcome(o, n, "container")->reason, "cpus: 2 given after a resize",
	   "outcomes: the reason of CPUs that a resize changed names the resize");
	r.container[0].cpus = got.asked = 4;
	got.cpus = set_of("0-3");
	n = judge(o, &r, &got, &node);
	is_int(find_outcome(o, n, "container")->outcome, OUTCOME_ENFORCED,
	       "outcomes: 4 of 4 requested CPUs, alone on the node, count as enforced");
	r.container[0].mems = 2;
	n = judge(o, &r, &got, &node);
	is(find_outcome(o, n, "container")->reason, "mems: 1 given after a resize",
	   "outcomes: the reason of memory nodes that a resize changed names the resize");
	is_int(find_outcome(o, n, "container")->outcome, OUTCOME_MODIFIED,
	       "outcomes: 1 memory node instead of 2 counts as modified");
	r.container[0].mems_kind = MEMS_SIZE;
	r.container[0].mems = 64 << 20;
	node.usable = 32 << 20;
	n = judge(o, &r, &got, &node);
	is(find_outcome(o, n, "container")->reason, "mems: 64 MiB asked, 32 MiB usable",
	   "outcomes: 32 MiB usable of 64 MiB are reported without a resize");
	node.usable = 96 << 20;
	n = judge(o, &r, &got, &node);
	is_int(find_outcome(o, n, "container")->outcome, OUTCOME_ENFORCED,
	       "outcomes: whole blocks with more than the requested size count as enforced");
	node.usable = 0;
	r.container[0].mems_kind = MEMS_COUNT;
	r.container[0].mems = 1;
	node.alone = false;
	n = judge(o, &r, &got, &node);
	is_int(find_outcome(o, n, "container")->outcome, OUTCOME_MODIFIED,
	       "outcomes: memory nodes that other jobs may use count as modified");
	got.shared = true;
	got.kinds = MEMORY_KIND_BIT(MEMORY_DRAM);
	n = judge(o, &r, &got, &node);
	is(find_outcome(o, n, "container")->reason,
	   "mems: shared: another container also uses some of these memory nodes (dram)",
	   "outcomes: the reason of shared memory nodes gives their kind");
	is_int(find_outcome(o, n, "container")->outcome, OUTCOME_MODIFIED,
	       "outcomes: shared memory nodes count as modified");
	got.shared = false;
	got.kinds = MEMORY_KIND_BIT(MEMORY_HBM);
	node.alone = true;
	n = judge(o, &r, &got, &node);
	is(find_outcome(o, n, "container")->reason, "mems: memory of kind hbm",
	   "outcomes: the reason of memory nodes of HBM gives the kind");
	is_int(find_outcome(o, n, "container")->outcome, OUTCOME_ENFORCED,
	       "outcomes: memory nodes of HBM count as enforced");
	got.kinds = MEMORY_KIND_BIT(MEMORY_DRAM);
	n = judge(o, &r, &got, &node);
	is(find_outcome(o, n, "container")->reason, "",
	   "outcomes: memory nodes of DRAM need no reason");
	got.kinds = 0;
	node.alone = false;
	r.container[0].policy = POLICY_HPC;
	conf.hpc_fallback = POLICY_UNSET;
	conf.hpc_partition = false;
	if (!policy_supported(POLICY_HPC)) {
		n = judge(o, &r, &got, &node);
		is_int(find_outcome(o, n, "scheduler")->outcome, OUTCOME_FAILED,
		       "outcomes: a policy that this kernel lacks is \"failed\"");
	}
	conf.hpc_fallback = POLICY_FIFO;
	r.container[0].priority = HPC_TOPO;
	outcome_sched(&sched, &r.container[0], &conf, true);
	if (!policy_supported(POLICY_HPC)) {
		is_int(sched.policy, POLICY_FIFO,
		       "hpc_fallback replaces a class that this kernel lacks");
		is_int(sched.priority, 1, "hpc_fallback = fifo gives the lowest priority");
		is_int(sched.quantum, 0, "hpc_fallback = fifo gives no quantum");
		n = judge(o, &r, &got, &node);
		is_int(find_outcome(o, n, "scheduler")->outcome, OUTCOME_MODIFIED,
		       "hpc_fallback is reported as modified");
		is(find_outcome(o, n, "scheduler")->reason,
		   "this kernel has no scheduling policy \"hpc\": \"fifo\" instead (hpc_fallback)",
		   "the reason of hpc_fallback names both policies");
	}
	conf.hpc_fallback = POLICY_OTHER;
	conf.hpc_partition = true;
	outcome_sched(&sched, &r.container[0], &conf, true);
	if (!policy_supported(POLICY_HPC)) {
		ok(sched.policy == POLICY_OTHER && sched.partition == PARTITION_ROOT &&
			   sched.for_hpc,
		   "hpc_fallback = partition: policy other in a root partition");
		n = judge(o, &r, &got, &node);
		is_int(find_outcome(o, n, "scheduler")->outcome, OUTCOME_ENFORCED,
		       "hpc_fallback = partition is reported as enforced");
		/* the end of the reason depends on this kernel's nohz_full= */
		ok(strncmp(find_outcome(o, n, "scheduler")->reason,
			   "by partition: this kernel has no scheduling policy \"hpc\" "
			   "(hpc_fallback)",
			   70) == 0,
		   "the reason of hpc_fallback = partition says that a partition replaces policy "
		   "hpc");
		r.container[0].partition = PARTITION_ISOLATED;
		outcome_sched(&sched, &r.container[0], &conf, true);
		ok(sched.partition == PARTITION_ISOLATED && !sched.for_hpc,
		   "hpc_fallback = partition: the container's own kind of partition stays");
		r.container[0].partition = PARTITION_MEMBER;
	}
	outcome_sched(&sched, &r.container[0], &conf, false);
	is_int(sched.partition, PARTITION_MEMBER,
	       "hpc_fallback = partition: no partition for a kernel that has the class");
	conf.hpc_partition = false;
	outcome_sched(&sched, &r.container[0], &conf, false);
	ok(sched.policy == POLICY_HPC && sched.priority == HPC_TOPO &&
		   sched.quantum == HPC_QUANTUM_DEFAULT && !sched.fallback,
	   "on a kernel with the class, policy hpc has the default placement and quantum");
	r.container[0].quantum_named = true;
	outcome_sched(&sched, &r.container[0], &conf, false);
	is_int(sched.quantum, 0, "a requested quantum of 0 stays 0");
	r.container[0].policy = POLICY_UNSET;
	r.container[0].quantum_named = false;
	r.container[0].priority = 0;
	conf.default_policy = POLICY_HPC;
	outcome_sched(&sched, &r.container[0], &conf, false);
	ok(sched.policy == POLICY_HPC && sched.priority == HPC_TOPO,
	   "default_policy = hpc has the default placement");
	conf.default_policy = POLICY_OTHER;
	conf.hpc_fallback = POLICY_UNSET;
	r.container[0].policy = POLICY_HPC;
	node.policy_known = false;
	n = judge(o, &r, &got, &node);
	is_int(find_outcome(o, n, "scheduler")->outcome, OUTCOME_ENFORCED,
	       "a dry run reports policy hpc as enforced whatever this kernel has");
}

static const char *missing_of(const char *request, const char *no_tick)
{
	static char text[128];
	struct idset cpus = set_of("1-7"), quiet = set_of(no_tick);
	struct request r;
	struct errbuf err;

	if (request_parse(&r, request, &err) < 0)
		printf("Bail out! %s\n", err.text);
	outcome_hpc_missing(text, sizeof(text), &r.container[0], &cpus, &quiet);
	return text;
}

static void test_hpc_missing(void)
{
	is(missing_of("nodeos 1;c=sim policy=hpc;", "1-7"), "",
	   "outcome_hpc_missing: a partition on CPUs without ticks lacks nothing of placement "
	   "user");
	is(missing_of("nodeos 1;c=sim policy=hpc prio=1 quantum=20;", "1-7"),
	   "; missing: placement rr, quantum 20 ms",
	   "outcome_hpc_missing: a partition lacks placement rr and a quantum");
	is(missing_of("nodeos 1;c=sim policy=hpc;", "1-4"), "; missing: nohz_full= for CPUs 5-7",
	   "outcome_hpc_missing: a partition on other CPUs than nohz_full= lists lacks that "
	   "parameter");
	is(missing_of("nodeos 1;c=sim;", ""), "; missing: placement topo, nohz_full= for CPUs 1-7",
	   "outcome_hpc_missing: with the site's default policy hpc, a partition lacks placement "
	   "topo");
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
	   "the refusal of fifo lists the allowed policies: %s", err.text);
	conf.allow_policies |= 1u << POLICY_FIFO;
	is_int(isolators_allowed(&r.container[0], &conf, "/c", &err), -1,
	       "priority 60 is refused with max_rt_priority = 50");
	ok(strstr(err.text, "50") != NULL, "the refusal of priority 60 gives the limit: %s",
	   err.text);
	r.container[0].priority = 0;
	is_int(isolators_allowed(&r.container[0], &conf, "/c", &err), 0,
	       "priority 0 is accepted as 1, the lowest");
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
	test_hpc_missing();
	test_site_rules();
	test_outcome_json();
	return tap_done();
}
