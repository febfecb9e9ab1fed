/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of service_choose() and the other functions of service.h. Expected sets are worked out by
 * hand on small machines.
 */
#include <stdlib.h>

#include "base/test/tap.h"
#include "topology/machine.h"
#include "topology/machine_impl.h"
#include "topology/service.h"

#define TWO "package:2 numa:1 core:4 pu:2" /* core c has threads 2c and 2c + 1 */
/* core c has threads c and c + 4 */
#define APART "package:2 numa:1 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)"
/* four L3 caches; each has two cores and a memory node */
#define CACHES "package:2 numa:2 l3:1 core:2 pu:2"
#define NODE "[numa(memory=1073741824)] "

static const struct {
	const char *name, *machine;
	enum service_kind kind;
	unsigned cores;
	const char *cpus, *mems; /* the request; MEMS is NULL if all nodes are shared */
	const char *want_cpus, *want_mems,
		*want_slurm; /* the expected sets, or NULL if ERROR is expected */
	const char *error;
} tests[] = {
	{ "none", TWO, SERVICE_NONE, 0, "", NULL, "", "", "", NULL },
	{ "1/node: a core of the node", TWO, SERVICE_PER_NODE, 1, "", NULL, "0-1", "0-1", "0-1",
	  NULL },
	{ "two cores of the node", TWO, SERVICE_PER_NODE, 2, "", NULL, "0-3", "0-1", "0-3", NULL },
	{ "a core of each socket", TWO, SERVICE_PER_SOCKET, 1, "", NULL, "0-1,8-9", "0-1",
	  "0-1,8-9", NULL },
	{ "one core, in the numbers of the kernel and of Slurm", APART, SERVICE_PER_NODE, 1, "",
	  NULL, "0,4", "0-1", "0-1", NULL },
	{ "a core of each socket, in the numbers of the kernel and of Slurm", APART,
	  SERVICE_PER_SOCKET, 1, "", NULL, "0,2,4,6", "0-1", "0-1,4-5", NULL },
	{ "a list of CPUs", APART, SERVICE_CPUS, 0, "3,7", NULL, "3,7", "0-1", "6-7", NULL },
	{ "a machine without packages", "core:4 pu:2", SERVICE_PER_SOCKET, 1, "", NULL, "0-1", "0",
	  "0-1", NULL },
	{ "a list of memory nodes", TWO, SERVICE_PER_NODE, 1, "", "0", "0-1", "0", "0-1", NULL },
	{ "a core of each L3 cache", CACHES, SERVICE_PER_L3, 1, "", NULL, "0-1,4-5,8-9,12-13",
	  "0-3", "0-1,4-5,8-9,12-13", NULL },
	{ "a core of each memory node", CACHES, SERVICE_PER_NUMA, 1, "", NULL, "0-1,4-5,8-9,12-13",
	  "0-3", "0-1,4-5,8-9,12-13", NULL },
	{ "a core of each L3 cache, several in a memory node", "numa:1 l3:2 core:2 pu:1",
	  SERVICE_PER_L3, 1, "", NULL, "0,2", "0", "0,2", NULL },
	{ "a core of each memory node of two caches", "numa:1 l3:2 core:2 pu:1", SERVICE_PER_NUMA,
	  1, "", NULL, "0", "0", "0", NULL },
	{ "a machine without L3 caches", "core:4 pu:2", SERVICE_PER_L3, 1, "", NULL, "0-1", "0",
	  "0-1", NULL },
	{ "more cores than an L3 cache has", CACHES, SERVICE_PER_L3, 3, "", NULL, NULL, NULL, NULL,
	  "serviceos: 3/l3: this machine has 2 cores in each l3" },
	{ "half a core", APART, SERVICE_CPUS, 0, "0-1", NULL, NULL, NULL, NULL,
	  "serviceos: CPUs 0-1 are not whole cores: write 0-1,4-5, with all threads of these "
	  "cores, or a number of cores (1/node, 1/socket)" },
	{ "no such CPU", TWO, SERVICE_CPUS, 0, "15-16", NULL, NULL, NULL, NULL,
	  "serviceos: CPUs 15-16: this machine has 0-15" },
	{ "every core of the machine", TWO, SERVICE_PER_SOCKET, 4, "", NULL, NULL, NULL, NULL,
	  "serviceos: CPUs 0-15 are all that this machine has: none would be left for containers" },
	{ "more cores than the machine has", TWO, SERVICE_PER_NODE, 99, "", NULL, NULL, NULL, NULL,
	  "serviceos: 99/node: this machine has 8 cores" },
	{ "more cores than a socket has", TWO, SERVICE_PER_SOCKET, 5, "", NULL, NULL, NULL, NULL,
	  "serviceos: 5/socket: this machine has 4 cores in each socket" },
	{ "no such memory node", TWO, SERVICE_PER_NODE, 1, "", "1-2", NULL, NULL, NULL,
	  "serviceos_mems: memory nodes 1-2: this machine has memory in 0-1" },
	{ "every memory node of the machine", TWO, SERVICE_PER_NODE, 1, "", "0-1", NULL, NULL, NULL,
	  "serviceos_mems: memory nodes 0-1 are all that this machine has: none would be left for "
	  "containers (write \"all\" to share them with containers)" },
};

static void is_list(const struct idset *got, const char *want, const char *name, const char *what)
{
	char text[IDSET_LIST_MAX];

	idset_format(got, text, sizeof(text));
	is(text, want, "service_choose: %s: %s", name, what);
}

static void one(size_t i)
{
	struct service_ask ask = { .kind = tests[i].kind,
				   .cores = tests[i].cores,
				   .own_mems = tests[i].mems != NULL };
	struct machine *m;
	struct service_set got;
	struct errbuf err = { 0 };
	struct idset slurm;
	int rc;

	idset_parse(&ask.cpus, tests[i].cpus, NULL);
	if (tests[i].mems)
		idset_parse(&ask.mems, tests[i].mems, NULL);
	if (machine_load_synthetic(&m, tests[i].machine, &err) < 0)
		bail("%s", err.text);
	rc = service_choose(&got, m, &ask, &err);
	if (tests[i].error) {
		ok(rc == -1, "service_choose: %s: is refused", tests[i].name);
		is(err.text, tests[i].error, "service_choose: %s: the refusal has the reason",
		   tests[i].name);
	} else if (ok(rc == 0, "service_choose: %s: succeeds %s", tests[i].name, err.text)) {
		is_list(&got.cpus, tests[i].want_cpus, tests[i].name, "chooses the CPUs");
		is_list(&got.mems, tests[i].want_mems, tests[i].name, "chooses the memory nodes");
		ok(got.own_mems == (tests[i].mems != NULL),
		   "service_choose: %s: own_mems is set only for a list", tests[i].name);
		service_slurm_cpus(&slurm, m, &got.cpus, 0, &err);
		is_list(&slurm, tests[i].want_slurm, tests[i].name,
			"service_slurm_cpus() gives Slurm's numbers");
	}
	machine_free(m);
}

/*
 * Test that Slurm numbers cores, not threads, if CPUs= in slurm.conf is not more than the number of
 * cores.
 */
static void test_slurm_by_core(void)
{
	struct idset cpus, out;
	struct machine *m;
	struct errbuf err;

	if (machine_load_synthetic(&m, "package:2 " NODE "core:4 pu:2", &err) < 0)
		bail("%s", err.text);
	idset_parse(&cpus, "0-1,8-9", NULL);
	service_slurm_cpus(&out, m, &cpus, 16, &err);
	is_list(&out, "0-1,8-9", "16 CPUs on 8 cores", "service_slurm_cpus numbers threads");
	service_slurm_cpus(&out, m, &cpus, 9, &err);
	is_list(&out, "0-1,8-9", "9 CPUs on 8 cores", "service_slurm_cpus numbers threads");
	service_slurm_cpus(&out, m, &cpus, 8, &err);
	is_list(&out, "0,4", "8 CPUs on 8 cores", "service_slurm_cpus numbers cores");
	machine_free(m);
}

/*
 * Test homes. Nodes 2 and 3 are blocks: first both of physical node 1, then one of node 0 and one
 * of node 1.
 */
static void test_homes(void)
{
	struct service_ask ask = {
		.kind = SERVICE_PER_NODE, .cores = 1, .own_mems = true, .homes = true
	};
	struct service_set got;
	struct errbuf err = { 0 };
	struct machine *m;

	if (machine_load_synthetic(&m, "package:4 " NODE "core:2 pu:1", &err) < 0)
		bail("%s", err.text);
	is_int(service_choose(&got, m, &ask, &err), -1,
	       "service_choose: homes: refused without a divided node");
	is(err.text,
	   "serviceos_mems: homes: no memory node of this machine is divided (the boot parameter "
	   "fgmn= divides them)",
	   "service_choose: homes: the message says that no node is divided");
	m->node[2].home = m->node[3].home = 1;
	is_int(service_choose(&got, m, &ask, &err), 0,
	       "service_choose: homes: succeeds with one divided node %s", err.text);
	is_list(&got.mems, "1", "homes", "the system gets the node that has blocks");
	ok(got.own_mems, "service_choose: homes: containers do not get the homes");
	m->node[2].home = 0;
	is_int(service_choose(&got, m, &ask, &err), 0,
	       "service_choose: homes: succeeds with two divided nodes %s", err.text);
	is_list(&got.mems, "0-1", "homes", "the system gets both nodes that have blocks");
	machine_free(m);
}

/* Nodes 0 and 1 are ordinary, nodes 2 and 3 are special. This process may not use node 3. */
static void test_special(void)
{
	static const struct {
		const char *mems;
		bool good;
	} asks[] = { { "0", true }, { "0,2", true }, { "2", true }, { "0-1", false } };
	struct errbuf err = { 0 };
	struct machine *m;

	if (machine_load_synthetic(&m, "package:4 " NODE "core:2 pu:1", &err) < 0)
		bail("%s", err.text);
	idset_parse(&m->ordinary, "0-1", NULL);
	idset_parse(&m->mems, "0-2", NULL);
	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		struct service_ask ask = { .kind = SERVICE_PER_NODE, .cores = 1, .own_mems = true };
		struct service_set got;

		idset_parse(&ask.mems, asks[i].mems, NULL);
		err.text[0] = '\0';
		is_int(service_choose(&got, m, &ask, &err), asks[i].good ? 0 : -1,
		       "service_choose: serviceos_mems = %s beside special memory is %s",
		       asks[i].mems, asks[i].good ? "accepted" : "refused");
	}
	is(err.text,
	   "serviceos_mems: memory nodes 0-1 leave only special memory (2), which only containers "
	   "that name its kind get: leave at least one of 0-1, or write \"all\" (shared with "
	   "containers)",
	   "service_choose: a refusal of all ordinary memory has the reason and what to write "
	   "instead");
	machine_free(m);
}

static void test_service_bytes(void)
{
	struct machine *m;
	struct errbuf err;
	struct idset mems;

	if (machine_load_synthetic(&m, "package:2 " NODE "core:2 pu:1", &err) < 0)
		bail("%s", err.text);
	idset_parse(&mems, "1", NULL);
	ok(service_bytes(m, &mems) == UINT64_C(1) << 30,
	   "service_bytes: gives the bytes of one node");
	ok(service_bytes(m, machine_mems(m)) == UINT64_C(1) << 31,
	   "service_bytes: adds the bytes of two nodes");
	machine_free(m);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		one(i);
	test_slurm_by_core();
	test_homes();
	test_special();
	test_service_bytes();
	return tap_done();
}
