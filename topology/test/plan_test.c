/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares plans with expected plans, which are worked out by hand from doc/planner.md. hwloc
 * numbers the CPUs and nodes of a synthetic machine in logical order.
 */
#include <stdlib.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "topology/machine.h"

/* a row sets only the members that matter; the others are zero */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define MOST 4
#define GIB (UINT64_C(1) << 30)

struct want {
	const char *cpus;
	const char *reserved; /* NULL: the same as cpus */
	const char *mems; /* NULL: all, not confined */
	bool shared;
};

struct test {
	const char *name, *machine;
	/* the offered sets, and used nodes; NULL: all, all, none */
	const char *cpus, *mems, *taken;
	enum mems_default mems_default;
	struct plan_ask ask[MOST]; /* up to the first ask without a name */
	struct want want[MOST];
	const char *free_cpus, *free_mems; /* NULL: not checked */
	const char *error;
	enum plan_refusal code;
};

#define TWO "package:2 numa:1 core:4 pu:2" /* core c has threads 2c and 2c + 1 */
/*
 * package 0 has an L3 domain of cores 0 and 1, and core 2; core 3 is in no package; package 1 has
 * cores 4 to 6, which are alike
 */
#define UNEVEN "uneven.xml"
#define KINDS "kinds.xml" /* CPUs 0 to 3 are efficient cores; CPUs 4,5 and 6,7 are two fast cores */
/* given in bytes, since releases of hwloc differ in the meaning of GB */
#define NODE "[numa(memory=1073741824)] "
#define FAKE "package:2 " NODE NODE "core:2 pu:1"

static const struct test tests[] = {
	{ "whole cores of one package", TWO, .ask = { { "a", 4 } }, .want = { { "0-3" } },
	  .free_cpus = "4-15", .free_mems = "0-1" },
	{ "an odd count rounds up to whole cores", TWO, .ask = { { "a", 3 } },
	  .want = { { "0-3" } } },
	{ "smt=1: siblings are reserved and idle", TWO, .ask = { { "a", 2, 1 } },
	  .want = { { "0,2", "0-3" } }, .free_cpus = "4-15" },
	{ "one package: cores of an L3 domain and a core outside of it", UNEVEN,
	  .ask = { { "a", 5 } }, .want = { { "0-2,4-5" } }, .free_cpus = "3,6" },
	{ "two packages, without the core that is in no package", UNEVEN, .ask = { { "a", 6 } },
	  .want = { { "0-2,4-6" } }, .free_cpus = "3" },
	{ "smt=3 on cores of two threads", TWO, .ask = { { "a", 4, 3 } }, .want = { { "0-3" } } },
	{ "best fit: the package with fewer free threads", TWO, .cpus = "2-15",
	  .ask = { { "a", 4 } }, .want = { { "2-5" } } },
	{ "best fit: the second package if it has fewer free threads", TWO, .cpus = "0-13",
	  .ask = { { "a", 4 } }, .want = { { "8-11" } } },
	{ "fewest packages come before best fit", TWO, .cpus = "4-15", .ask = { { "a", 6 } },
	  .want = { { "8-13" } } },
	{ "half cores are avoided", TWO, .cpus = "1-15", .ask = { { "a", 2 } },
	  .want = { { "2-3" } } },
	{ "whole cores come before best fit", "package:2 core:2 pu:2", .cpus = "1-7",
	  .ask = { { "a", 4 } }, .want = { { "4-7" } } },
	{ "whole cores come before fewest packages", "package:2 core:2 pu:2", .cpus = "1-6",
	  .ask = { { "a", 4 } }, .want = { { "2-5" } } },
	{ "half cores are used if whole cores do not suffice", TWO, .cpus = "1-15",
	  .ask = { { "a", 15 } }, .want = { { "1-15" } }, .free_cpus = "" },
	{ "only as many half cores as needed are used", TWO, .cpus = "1,3,5,8-15",
	  .ask = { { "a", 9 } }, .want = { { "1,8-15" } } },
	{ "two containers on the node of the Argo paper", "package:2 numa:1 core:12 pu:2",
	  .cpus = "2-47", .ask = { { "sim", 44 }, { "vda", 2 } },
	  .want = { { "2-45" }, { "46-47" } }, .free_cpus = "" },
	{ "the largest container chooses first, in any order of the requests", TWO,
	  .ask = { { "vda", 2 }, { "sim", 8 } }, .want = { { "8-9" }, { "0-7" } } },
	{ "containers of equal size choose in the order of the requests", TWO,
	  .ask = { { "a", 2 }, { "b", 1 }, { "c", 2 } },
	  .want = { { "0-1" }, { "2-3" }, { "4-5" } } },
	{ "the size of a container with smt=1 is its number of cores, not of threads", TWO,
	  .ask = { { "a", 4 }, { "b", 3, 1 } }, .want = { { "8-11" }, { "0,2,4", "0-5" } } },
	{ "cpus=0 takes all CPUs that the other containers leave", TWO,
	  .ask = { { "rest", 0 }, { "a", 10 } }, .want = { { "10-15" }, { "0-9" } },
	  .free_cpus = "" },
	{ "cpus=0 with smt=1 takes all that the others leave", TWO,
	  .ask = { { "rest", 0, 1 }, { "a", 12 } }, .want = { { "12,14", "12-15" }, { "0-11" } } },
	{ "L3: the domain with the tightest fit", "package:1 l3:4 core:4 pu:1", .cpus = "0-2,4-15",
	  .ask = { { "a", 3 } }, .want = { { "0-2" } } },
	{ "L3: as few domains as possible", "package:1 l3:4 core:4 pu:1", .cpus = "0,4-6,8-15",
	  .ask = { { "a", 4 } }, .want = { { "8-11" } } },
	{ "L3: the two domains with the tightest fit", "package:1 l3:4 core:4 pu:1",
	  .cpus = "0-2,4-15", .ask = { { "a", 5 } }, .want = { { "0-2,4-5" } } },
	{ "NUMA: one locality of a package", "package:2 numa:2 core:2 pu:1", .cpus = "1-7",
	  .ask = { { "a", 2 } }, .want = { { "2-3" } } },
	{ "a machine of one CPU", "pu:1", .ask = { { "a", 1 } }, .want = { { "0" } },
	  .free_cpus = "" },
	{ "avoiding waste comes before locality if a thread would be missing",
	  "package:2 core:2 pu:3", .cpus = "0,1,3,4,6", .ask = { { "a", 3 }, { "b", 2 } },
	  .want = { { "0-1,6" }, { "3-4" } } },
	{ "no request", TWO, .free_cpus = "0-15", .free_mems = "0-1" },

	{ "mems: local nodes", FAKE,
	  .ask = { { "a", 2, 0, MEMS_COUNT, 1 }, { "b", 2, 0, MEMS_COUNT, 2 } },
	  .want = { { "0-1", NULL, "0" }, { "2-3", NULL, "2-3" } }, .free_mems = "1" },
	{ "mems: two containers of one package have a node each", FAKE,
	  .ask = { { "a", 1, 0, MEMS_COUNT, 1 }, { "b", 1, 0, MEMS_COUNT, 1 } },
	  .want = { { "0", NULL, "0" }, { "1", NULL, "1" } } },
	{ "mems: enough memory comes before best fit", FAKE, .cpus = "1-3", .taken = "0",
	  .ask = { { "a", 1, 0, MEMS_COUNT, 2 } }, .want = { { "2", NULL, "2-3" } },
	  .free_mems = "1" },
	{ "mems: best fit decides if either package has enough memory", FAKE, .cpus = "1-3",
	  .taken = "0", .ask = { { "a", 1, 0, MEMS_COUNT, 1 } }, .want = { { "1", NULL, "1" } } },
	{ "mems: nodes that no other job uses come first", FAKE, .cpus = "0-1", .taken = "0-1",
	  .ask = { { "a", 1, 0, MEMS_COUNT, 1 } }, .want = { { "0", NULL, "2" } } },
	{ "mems: nodes that other jobs use come last, and of these local nodes first", FAKE,
	  .cpus = "0-1", .taken = "0-1", .ask = { { "a", 1, 0, MEMS_COUNT, 3 } },
	  .want = { { "0", NULL, "0,2-3", true } }, .free_mems = "" },
	{ "mems: a size that needs two nodes", FAKE, .ask = { { "a", 1, 0, MEMS_SIZE, GIB + 1 } },
	  .want = { { "0", NULL, "0-1" } } },
	{ "mems: a size that one node holds", FAKE, .ask = { { "a", 1, 0, MEMS_SIZE, GIB } },
	  .want = { { "0", NULL, "0" } } },
	{ "mems: a size that needs a node of another package", FAKE,
	  .ask = { { "a", 1, 0, MEMS_SIZE, 2 * GIB + 1 } }, .want = { { "0", NULL, "0-2" } } },
	{ "mems: without a request, a container gets local nodes", FAKE, .mems_default = MEMS_LOCAL,
	  .ask = { { "a", 1 } }, .want = { { "0", NULL, "0-1" } }, .free_mems = "2-3" },
	{ "mems: a container that requests memory chooses before one that does not", FAKE,
	  .mems_default = MEMS_LOCAL, .cpus = "0-1",
	  .ask = { { "a", 1 }, { "b", 1, 0, MEMS_COUNT, 1 } },
	  .want = { { "0", NULL, "1" }, { "1", NULL, "0" } } },
	{ "mems: without a request, local nodes are shared if no other node is left", FAKE,
	  .mems_default = MEMS_LOCAL, .cpus = "0-1", .ask = { { "a", 1 }, { "b", 1 } },
	  .want = { { "0", NULL, "0-1", true }, { "1", NULL, "0-1", true } } },
	{ "mems: a container that is not confined leaves all nodes free", FAKE,
	  .ask = { { "a", 2 } }, .want = { { "0-1" } }, .free_mems = "0-3" },

	{ "mems: a size that the only node does not have", FAKE, .mems = "2",
	  .ask = { { "a", 1, 0, MEMS_SIZE, GIB + 1 } },
	  .error = "container a: needs 1.0 GiB of memory (1073741825 bytes), the 1 memory node "
		   "that may be given holds 1.0 GiB (1073741824 bytes); "
		   "the largest request that fits now is mems=1024MiB",
	  .code = PLAN_NO_MEMS },
	{ "mems: a request of the size that the refusal offers", FAKE, .mems = "2",
	  .ask = { { "a", 1, 0, MEMS_SIZE, 1024 << 20 } }, .want = { { "2", NULL, "2" } } },

	{ "too many threads", "package:2 numa:1 core:12 pu:2", .cpus = "4-47",
	  .ask = { { "sim", 64 } },
	  .error = "container sim: needs 64 threads (32 cores), 44 are free here; the largest "
		   "request that fits now is cpus=44",
	  .code = PLAN_NO_CPUS },
	{ "too many threads beside other containers", TWO, .ask = { { "sim", 14 }, { "vda", 4 } },
	  .error = "container vda: needs 4 threads (2 cores), 2 are free here beside the larger "
		   "containers; the largest request that fits now is cpus=2",
	  .code = PLAN_NO_CPUS },
	{ "too many cores with smt=1", TWO, .ask = { { "sim", 9, 1 } },
	  .error = "container sim: needs 9 threads (9 cores), 8 are free here; the largest request "
		   "that fits now is cpus=8",
	  .code = PLAN_NO_CPUS },
	{ "no free core", TWO, .ask = { { "sim", 16 }, { "vda", 1 } },
	  .error = "container vda: needs 1 thread, but the containers planned before it left none "
		   "free",
	  .code = PLAN_NO_CPUS },
	{ "no core for cpus=0", TWO, .ask = { { "sim", 16 }, { "vda", 0 } },
	  .error = "container vda: needs at least 1 thread (cpus=0 requests every core that is "
		   "left), but the "
		   "containers planned before it left none free",
	  .code = PLAN_NO_CPUS },
	{ "fast cores are used if no kind is requested", KINDS, .ask = { { "a", 3 } },
	  .want = { { "4-7" } } },
	{ "cores of all kinds are used if no kind is requested and fast cores do not suffice",
	  KINDS, .ask = { { "a", 5 } }, .want = { { "0,4-7" } } },
	{ "requested efficient cores are used", KINDS,
	  .ask = { { .name = "a", .cpus = 3, .cores = CORES_EFFICIENT } }, .want = { { "0-2" } } },
	{ "too few fast cores", KINDS, .ask = { { .name = "a", .cpus = 5, .cores = CORES_FAST } },
	  .error = "container a: needs 5 threads (3 cores), 4 are free here; the largest request "
		   "that fits now is cpus=4 (fast cores only, as asked; 4 threads are free on "
		   "efficient cores)",
	  .code = PLAN_NO_CPUS },
	{ "no efficient core", KINDS, .cpus = "4-7",
	  .ask = { { .name = "a", .cpus = 5, .cores = CORES_EFFICIENT } },
	  .error = "container a: needs 5 threads, none is free here (efficient cores only, as "
		   "asked; 4 threads are free on fast cores)",
	  .code = PLAN_NO_CPUS },
	{ "two containers with cpus=0", TWO, .ask = { { "a", 0 }, { "b", 0 } },
	  .error = "containers a and b both request every core that is left (cpus=0): only one "
		   "container may do so",
	  .code = PLAN_BAD_ASK },
	{ "too many memory nodes", FAKE, .mems = "0-2", .ask = { { "a", 1, 0, MEMS_COUNT, 4 } },
	  .error = "container a: needs 4 memory nodes, 3 may be given on this machine; the largest "
		   "request that fits now is mems=3",
	  .code = PLAN_NO_MEMS },
	{ "too much memory", FAKE, .ask = { { "a", 1, 0, MEMS_SIZE, 5 * GIB } },
	  .error = "container a: needs 5.0 GiB of memory (5368709120 bytes), the 4 memory nodes "
		   "that may be given hold 4.0 GiB (4294967296 bytes) together; "
		   "the largest request that fits now is mems=4096MiB",
	  .code = PLAN_NO_MEMS },
	{ "mems=0", FAKE, .ask = { { "a", 1, 0, MEMS_COUNT, 0 } },
	  .error = "container a: mems=0 is not allowed: it needs at least one memory node",
	  .code = PLAN_BAD_ASK },
	{ "a CPU that the machine does not have", TWO, .cpus = "0-16", .ask = { { "a", 1 } },
	  .error = "this machine has no CPU 16", .code = PLAN_OK },
	{ "a memory node that the machine does not have", TWO, .mems = "0-2", .ask = { { "a", 1 } },
	  .error = "this machine has no memory node 2", .code = PLAN_OK },
	{ "no CPU to give", TWO, .cpus = "", .ask = { { "a", 1 } },
	  .error = "there is no CPU to give to containers", .code = PLAN_NO_OFFER },
	{ "no memory node to give", TWO, .mems = "", .ask = { { "a", 1 } },
	  .error = "there is no memory node to give to containers", .code = PLAN_NO_OFFER },
	{ "the largest number of threads", TWO, .ask = { { "a", 4294967295u } },
	  .error = "container a: needs 4294967295 threads (2147483648 cores), 16 are free here; "
		   "the largest request that fits now is cpus=16",
	  .code = PLAN_NO_CPUS },
};

static struct idset parsed(const char *list)
{
	struct idset s;
	struct errbuf err;

	if (idset_parse(&s, list, &err) < 0)
		bail("%s", err.text);
	return s;
}

static void is_list(const struct idset *got, const char *want, const char *test, const char *what)
{
	char text[IDSET_LIST_MAX];

	idset_format(got, text, sizeof(text));
	is(text, want, "plan_make: %s: %s", test, what);
}

static void check_container(const struct test *t, const struct plan_container *c,
			    const struct plan_ask *ask, const struct want *w)
{
	is_list(&c->cpus, w->cpus, t->name, "the container gets the CPUs");
	is_list(&c->reserved, w->reserved ? w->reserved : w->cpus, t->name,
		"the CPUs and their siblings are reserved");
	if (w->mems)
		is_list(&c->mems, w->mems, t->name, "the container gets the memory nodes");
	ok(c->mems_confined == (w->mems != NULL) && c->mems_shared == w->shared &&
		   c->cpus_asked == ask->cpus && c->cpus_given == idset_count(&c->cpus) && c->why &&
		   *c->why,
	   "plan_make: %s: the flags, counts and explanation of the container are set", t->name);
}

/* Load MACHINE, a description or the name of a file in test/machines. */
static struct machine *load(const char *machine)
{
	const char *source = getenv("NODEOS_SOURCE");
	struct machine *m = NULL;
	struct errbuf err;
	char path[4096];

	snprintf(path, sizeof(path), "%s/topology/test/machines/%s", source ? source : ".",
		 machine);
	if (machine_load_arg(&m, strstr(machine, ".xml") ? path : machine, &err) < 0)
		bail("%s", err.text);
	return m;
}

static void run(const struct test *t)
{
	struct plan_opts opts = { .default_mems = t->mems_default };
	struct machine *m = load(t->machine);
	struct plan *plan = NULL;
	struct errbuf err = { 0 };
	unsigned n = 0;

	opts.cpus = t->cpus ? parsed(t->cpus) : *machine_cpus(m);
	opts.mems = t->mems ? parsed(t->mems) : *machine_mems(m);
	opts.mems_taken = parsed(t->taken ? t->taken : "");
	while (n < MOST && t->ask[n].name)
		n++;
	if (plan_make(&plan, m, &opts, t->ask, n, &err) < 0) {
		is(err.text, t->error ? t->error : "success",
		   "plan_make: %s: the request is refused with the reason", t->name);
		is_int(err.code, (int)t->code, "plan_make: %s: the refusal has the right code",
		       t->name);
	} else if (ok(!t->error, "plan_make: %s: the requests are planned", t->name)) {
		for (unsigned i = 0; i < n; i++)
			check_container(t, &plan->container[i], &t->ask[i], &t->want[i]);
		if (t->free_cpus)
			is_list(&plan->free_cpus, t->free_cpus, t->name,
				"the other CPUs stay free");
		if (t->free_mems)
			is_list(&plan->free_mems, t->free_mems, t->name,
				"the other memory nodes stay free");
	}
	plan_free(plan);
	machine_free(m);
}

/* Test that the explanation has the numbers and the rule that decided. */
static void test_explanation(void)
{
	struct plan_opts opts = { .cpus = parsed("2-47"), .mems = parsed("0-1") };
	struct plan_ask ask[] = { { "sim", 21, 0, MEMS_COUNT, 1 } };
	struct machine *m;
	struct plan *plan;
	struct errbuf err;

	if (machine_load_synthetic(&m, "package:2 numa:1 core:12 pu:2", &err) < 0 ||
	    plan_make(&plan, m, &opts, ask, 1, &err) < 0)
		bail("%s", err.text);
	is(plan->container[0].why,
	   "requests 21 threads, 1 memory node; gets 22 threads on 11 of 23 free cores\n"
	   "rounded up to whole cores: 22 threads for 21 requested\n"
	   "package: 0 (22 threads free) fits, 1 (24) fits; takes 0: the tightest fit by packages\n"
	   "memory: node 0 (dram); 1 local, 0 remote",
	   "plan_make: the explanation has the numbers, the domains and the rule");
	plan_free(plan);
	machine_free(m);
}

/*
 * Test that the explanation has the requested kind of cores, and whether the machine has such
 * kinds.
 */
static void test_words_for_cores(void)
{
	static const struct {
		const char *machine, *line;
		enum cores_word word;
	} table[] = {
		{ TWO, "CPU kinds: fast, as asked, but all cores of the machine are of one kind",
		  CORES_FAST },
		{ TWO, "CPU kinds: any, as asked", CORES_ANY },
		{ KINDS, "CPU kinds: efficient, as asked", CORES_EFFICIENT },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct plan_ask ask = { .name = "a", .cpus = 2, .cores = table[i].word };
		struct plan_opts opts = { .default_mems = MEMS_ALL };
		struct machine *m = load(table[i].machine);
		struct plan *plan = NULL;
		struct errbuf err;
		const char *at;

		opts.cpus = *machine_cpus(m);
		opts.mems = *machine_mems(m);
		if (plan_make(&plan, m, &opts, &ask, 1, &err) < 0)
			bail("%s", err.text);
		at = strstr(plan->container[0].why, "CPU kinds:");
		ok(at && strncmp(at, table[i].line, strlen(table[i].line)) == 0 &&
			   at[strlen(table[i].line)] == '\n',
		   "plan_make: the explanation names the kind of cores for cores=%s on %s",
		   cores_word_name(table[i].word), table[i].machine);
		plan_free(plan);
		machine_free(m);
	}
}

/*
 * Test placements on a machine of two packages with two memory nodes each, four cores at each node
 * and two threads in each core.
 */
static void test_placements(void)
{
	static const struct {
		const char *name;
		struct plan_ask ask;
		const char *cpus, *mems, *why; /* WHY: the line about the placement, or NULL */
	} table[] = {
		{ "cores are packed if no placement is requested",
		  { .cpus = 8 },
		  "0-7",
		  "0-3",
		  NULL },
		{ "spread means over the outermost level, packages",
		  { .cpus = 8, .placement = PLACEMENT_SPREAD },
		  "0-3,16-19",
		  "0-3",
		  "placement: spread over each package, as asked: uses 2 packages, 2 NUMA "
		  "localities; packed it would use 1 package, 1 NUMA locality" },
		{ "spread over memory nodes",
		  { .cpus = 8, .placement = PLACEMENT_SPREAD_NUMA },
		  "0-1,8-9,16-17,24-25",
		  "0-3",
		  "placement: spread over each NUMA locality, as asked: uses 2 packages, 4 NUMA "
		  "localities; packed it would use 1 package, 1 NUMA locality" },
		{ "spread of fewer cores than domains takes the first ones",
		  { .cpus = 6, .placement = PLACEMENT_SPREAD_NUMA },
		  "0-1,8-9,16-17",
		  "0-3",
		  "placement: spread over each NUMA locality, as asked: uses 2 packages, 3 NUMA "
		  "localities; packed it would use 1 package, 1 NUMA locality" },
		{ "cores are packed if the machine does not have the level",
		  { .cpus = 8, .placement = PLACEMENT_SPREAD_L3 },
		  "0-7",
		  "0-3",
		  "placement: spread over each L3, as asked, but this machine has none: uses 1 "
		  "package, 1 NUMA locality; packed it would use 1 package, 1 NUMA locality" },
		{ "cores are packed if one package has the requested memory",
		  { .cpus = 16, .mems_kind = MEMS_COUNT, .mems = 2 },
		  "0-15",
		  "0-1",
		  NULL },
		{ "cores are spread if the requested memory needs two packages",
		  { .cpus = 16, .mems_kind = MEMS_COUNT, .mems = 4 },
		  "0-3,8-11,16-19,24-27",
		  "0-3",
		  "placement: spread over each NUMA locality, since one package has less memory "
		  "than "
		  "is asked: uses 2 packages, 4 NUMA localities; packed it would use 1 package, 2 "
		  "NUMA localities" },
		{ "cores are packed as requested though the memory needs two packages",
		  { .cpus = 16, .mems_kind = MEMS_COUNT, .mems = 4, .placement = PLACEMENT_PACK },
		  "0-15",
		  "0-3",
		  "placement: packed, as asked: uses 1 package, 2 NUMA localities; spread it "
		  "would use 2 packages, 2 NUMA localities" },
	};
	struct plan_opts opts = { .default_mems = MEMS_ALL };
	struct machine *m;
	struct errbuf err;

	if (machine_load_synthetic(&m, "package:2 numa:2 core:4 pu:2", &err) < 0)
		bail("%s", err.text);
	opts.cpus = *machine_cpus(m);
	opts.mems = *machine_mems(m);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct plan_ask ask = table[i].ask;
		struct plan *plan;
		const char *line;

		ask.name = "c";
		if (!ok(plan_make(&plan, m, &opts, &ask, 1, &err) == 0,
			"plan_make: %s: the request is planned", table[i].name))
			bail("%s", err.text);
		is(list_of(&plan->container[0].cpus), table[i].cpus,
		   "plan_make: %s: the container gets the expected CPUs", table[i].name);
		is(list_of(&plan->container[0].mems), table[i].mems,
		   "plan_make: %s: the container gets the expected memory nodes", table[i].name);
		line = strstr(plan->container[0].why, "placement:");
		ok(line && table[i].why ? strncmp(line, table[i].why, strlen(table[i].why)) == 0
					: !line && !table[i].why,
		   "plan_make: %s: the explanation has a line on the placement only if expected",
		   table[i].name);
		if (line)
			diag("%s", line);
		plan_free(plan);
	}
	machine_free(m);
}

static void test_many_containers(void)
{
	struct plan_opts opts = { .default_mems = MEMS_ALL };
	struct plan_ask ask[64];
	struct machine *m;
	struct plan *plan;
	struct errbuf err;
	bool right = true;

	if (machine_load_synthetic(&m, "package:2 core:32 pu:2", &err) < 0)
		bail("%s", err.text);
	opts.cpus = *machine_cpus(m);
	opts.mems = *machine_mems(m);
	for (unsigned i = 0; i < 64; i++)
		ask[i] = (struct plan_ask){ .name = "c", .cpus = 1 + i % 2 };
	if (!ok(plan_make(&plan, m, &opts, ask, 64, &err) == 0,
		"plan_make: plans 64 containers on 64 cores"))
		bail("%s", err.text);
	for (unsigned i = 0; i < 64; i++)
		right &= idset_has(&plan->container[i].cpus, 2 * i) &&
			 plan->container[i].cpus_given == 2;
	ok(right, "plan_make: 64 containers have one core each, in the order of the requests");
	plan_free(plan);
	machine_free(m);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		run(&tests[i]);
	test_explanation();
	test_words_for_cores();
	test_placements();
	test_many_containers();
	plan_free(NULL);
	return tap_done();
}
