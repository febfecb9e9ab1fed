/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expected maps are written by hand from the rules in ranks/rankmap.h. */
#include "base/test/tap.h"
#include "ranks/rankmap.h"

#define MOST 48

struct test {
	const char *name;
	unsigned cores, smt; /* core c has threads c, c + cores, ... */
	const char *step, *container;
	const char *bound[MOST]; /* NULL-terminated; an empty array: unknown masks */
	unsigned ranks; /* only when BOUND is empty */
	unsigned cpus_per_task;
	bool overcommit;
	const char *want[MOST]; /* the sets; or the error in want[0], after a '!' */
};

static const struct test tests[] = {
	{ "one rank gets the whole container",
	  4,
	  2,
	  "0-7",
	  "2-3,6-7",
	  { "0,4" },
	  0,
	  0,
	  false,
	  { "2-3,6-7" } },
	{ "one rank whose mask is unknown gets the whole container",
	  4,
	  2,
	  NULL,
	  "2-3,6-7",
	  { NULL },
	  1,
	  2,
	  false,
	  { "2-3,6-7" } },
	{ "the k-th core of the step becomes the k-th core of the container",
	  4,
	  2,
	  "0-7",
	  "2-3,6-7",
	  { "0,4", "1,5" },
	  0,
	  0,
	  false,
	  { "2,6", "3,7" } },
	{ "ranks that are in another order than their cores keep this order",
	  4,
	  2,
	  "0-7",
	  "2-3,6-7",
	  { "1,5", "0,4" },
	  0,
	  0,
	  false,
	  { "3,7", "2,6" } },
	{ "cores are numbered within the step, not within the machine",
	  8,
	  1,
	  "4-7",
	  "0-3",
	  { "5", "6" },
	  0,
	  0,
	  false,
	  { "1", "2" } },
	{ "a smaller container, cores taken modulo: ranks on separate cores stay separate",
	  8,
	  1,
	  "0-7",
	  "4-7",
	  { "0", "5" },
	  0,
	  0,
	  false,
	  { "4", "5" } },
	{ "a smaller container, cores taken modulo: ranks that would collide divide the cores",
	  8,
	  1,
	  "0-7",
	  "4-7",
	  { "0", "4" },
	  0,
	  0,
	  false,
	  { "4", "5" } },
	{ "block masks in a step larger than the container give each rank one core",
	  8,
	  2,
	  "0-15",
	  "0-3,8-11",
	  { "0,8", "1,9" },
	  0,
	  1,
	  false,
	  { "0,8", "1,9" } },
	{ "cyclic masks in a step larger than the container give each rank one core",
	  8,
	  2,
	  "0-15",
	  "0-3,8-11",
	  { "0,8", "4,12" },
	  0,
	  1,
	  false,
	  { "0,8", "1,9" } },
	{ "cyclic masks of two cores give each rank two cores",
	  8,
	  1,
	  "0-7",
	  "0-3",
	  { "0-1", "4-5" },
	  0,
	  2,
	  false,
	  { "0-1", "2-3" } },
	{ "-c 2 gives each rank two cores although each mask has one",
	  8,
	  1,
	  "0-7",
	  "0-3",
	  { "0", "4" },
	  0,
	  2,
	  false,
	  { "0-1", "2-3" } },
	{ "masks that collide and are wider than a share give each rank an equal share",
	  8,
	  1,
	  "0-7",
	  "0-3",
	  { "0-3", "4-7" },
	  0,
	  4,
	  false,
	  { "0-1", "2-3" } },
	{ "masks of two cores give each rank two cores",
	  4,
	  2,
	  "0-7",
	  "0-7",
	  { "0-1,4-5", "2-3,6-7" },
	  0,
	  4,
	  false,
	  { "0-1,4-5", "2-3,6-7" } },
	{ "a mask with more cores than the container gives the whole container",
	  4,
	  1,
	  "0-3",
	  "0-1",
	  { "0-2", "0-1" },
	  0,
	  0,
	  false,
	  { "0-1", "0-1" } },
	{ "masks of one thread give the same thread of the container's core",
	  4,
	  2,
	  "0-7",
	  "2-3,6-7",
	  { "0", "4" },
	  0,
	  0,
	  false,
	  { "2", "6" } },
	{ "masks of threads of the second core give threads of the container's second core",
	  4,
	  2,
	  "0-7",
	  "2-3,6-7",
	  { "1", "5" },
	  0,
	  0,
	  false,
	  { "3", "7" } },
	{ "masks of separate threads become separate cores if the container has one thread of each "
	  "core",
	  4,
	  2,
	  "0-7",
	  "2-3",
	  { "0", "4" },
	  0,
	  0,
	  false,
	  { "2", "3" } },
	{ "masks of whole cores become single threads if the container has one thread of each core",
	  4,
	  2,
	  "0-7",
	  "2-3",
	  { "0,4", "1,5" },
	  0,
	  0,
	  false,
	  { "2", "3" } },
	{ "a step with one thread of each core gives the container's whole cores",
	  4,
	  2,
	  "0-3",
	  "2-3,6-7",
	  { "0", "1" },
	  0,
	  0,
	  false,
	  { "2,6", "3,7" } },
	{ "ranks with equal masks divide the container",
	  4,
	  2,
	  "0-7",
	  "0-7",
	  { "0-7", "0-7" },
	  0,
	  0,
	  false,
	  { "0-1,4-5", "2-3,6-7" } },
	{ "ranks with unknown masks divide the container",
	  4,
	  2,
	  NULL,
	  "0-7",
	  { NULL },
	  4,
	  0,
	  false,
	  { "0,4", "1,5", "2,6", "3,7" } },
	{ "the remainder of a division stays idle",
	  5,
	  1,
	  NULL,
	  "0-4",
	  { NULL },
	  2,
	  0,
	  false,
	  { "0-1", "2-3" } },
	{ "-c gives each rank its number of CPUs, in whole cores",
	  6,
	  2,
	  NULL,
	  "0-11",
	  { NULL },
	  2,
	  3,
	  false,
	  { "0-1,6-7", "2-3,8-9" } },
	{ "if -c does not fit, each rank gets an equal share",
	  4,
	  2,
	  NULL,
	  "0-7",
	  { NULL },
	  2,
	  6,
	  false,
	  { "0-1,4-5", "2-3,6-7" } },
	{ "if -c does not fit, each rank gets at least one core",
	  3,
	  1,
	  NULL,
	  "0-2",
	  { NULL },
	  2,
	  2,
	  false,
	  { "0", "1" } },
	{ "-c counts the container's threads per core",
	  4,
	  2,
	  NULL,
	  "0-3",
	  { NULL },
	  2,
	  2,
	  false,
	  { "0-1", "2-3" } },
	{ "overcommit: ranks with unknown masks get the cores in turn",
	  4,
	  1,
	  NULL,
	  "1-2",
	  { NULL },
	  5,
	  0,
	  true,
	  { "1", "2", "1", "2", "1" } },
	{ "overcommit: masks with more cores than the container are taken modulo its cores",
	  4,
	  1,
	  "0-3",
	  "0-2",
	  { "0", "1", "2", "3" },
	  0,
	  0,
	  true,
	  { "0", "1", "2", "0" } },
	{ "overcommit: no ranks share a core while another core is free",
	  6,
	  1,
	  "0-5",
	  "0-1",
	  { "0", "2", "4" },
	  0,
	  0,
	  true,
	  { "0", "1", "0" } },
	{ "a lone rank of a small step gets as many cores as the step has",
	  4,
	  2,
	  "0,4",
	  "1-2,5-6",
	  { "0,4" },
	  0,
	  2,
	  false,
	  { "1,5" } },
	{ "a lone rank of a step with the whole job gets the container",
	  4,
	  2,
	  "0-7",
	  "1-2,5-6",
	  { "0-7" },
	  0,
	  8,
	  false,
	  { "1-2,5-6" } },
	{ "more ranks than cores are refused",
	  4,
	  1,
	  "0-3",
	  "0-1",
	  { "0", "1", "2", "3" },
	  0,
	  0,
	  false,
	  { "!4 ranks on 2 cores: ask for more cpus, or use -O" } },
	{ "more ranks than cores are refused, even with enough threads",
	  4,
	  2,
	  "0-7",
	  "2,6",
	  { "0", "4" },
	  0,
	  0,
	  false,
	  { "!2 ranks on 1 core: ask for more cpus (srun -c 2 gives every rank a core), or use "
	    "-O" } },
	{ "overcommit: ranks bound to separate threads get separate threads",
	  4,
	  2,
	  "0-7",
	  "2,6",
	  { "0", "4" },
	  0,
	  0,
	  true,
	  { "2", "6" } },
	{ "a container with no CPU of the machine's cores is refused",
	  4,
	  1,
	  "0-3",
	  "",
	  { "0" },
	  0,
	  0,
	  false,
	  { "!the container has no CPU on this machine's cores" } },
	{ "masks outside of the step's cores, but inside the container, stay",
	  4,
	  1,
	  "0-1",
	  "2-3",
	  { "2", "3" },
	  0,
	  0,
	  false,
	  { "2-2", "3" } },
	{ "ranks of which one has an empty mask divide the cores",
	  4,
	  1,
	  "0-3",
	  "0-3",
	  { "0", "" },
	  0,
	  0,
	  false,
	  { "0-1", "2-3" } },
	{ "masks that have parts of one core stay",
	  4,
	  2,
	  "0-7",
	  "0-7",
	  { "0,4,1", "5" },
	  0,
	  0,
	  false,
	  { "0,4,1", "5" } },
	{ "overlapping masks still overlap",
	  4,
	  1,
	  "0-3",
	  "0-3",
	  { "0-1", "1-2" },
	  0,
	  0,
	  false,
	  { "0-1", "1-2" } },
	{ "masks inside the container stay",
	  8,
	  1,
	  "0-7",
	  "2-7",
	  { "6", "3" },
	  0,
	  0,
	  false,
	  { "6", "3" } },
	{ "a mask inside the container moves when another rank's mask is outside",
	  8,
	  1,
	  "0-7",
	  "2-7",
	  { "6", "1" },
	  0,
	  0,
	  false,
	  { "2", "3" } },
	{ "a lone rank of a small step keeps a mask inside the container",
	  4,
	  2,
	  "2,6",
	  "1-2,5-6",
	  { "2,6" },
	  0,
	  2,
	  false,
	  { "2,6" } },
	{ "cyclic masks in a step larger than the container keep their order",
	  8,
	  1,
	  "0-7",
	  "0-3",
	  { "0", "4", "1", "5" },
	  0,
	  0,
	  false,
	  { "0", "2", "1", "3" } },
	{ "cyclic masks: ranks are ordered by the order of their cores",
	  8,
	  1,
	  "0-7",
	  "4-5",
	  { "7", "1" },
	  0,
	  0,
	  false,
	  { "5", "4" } },
};

static const struct {
	struct test test;
	bool unbound;
	unsigned threads_per_core;
	bool by_thread;
} wishes[] = {
	{ { "--cpu-bind=none: every rank has the whole container",
	    4,
	    2,
	    "0-7",
	    "2-3,6-7",
	    { "0-7", "0-7", "0-7" },
	    0,
	    0,
	    false,
	    { "2-3,6-7", "2-3,6-7", "2-3,6-7" } },
	  true,
	  0,
	  false },
	{ { "one thread per core: each rank gets one thread of its core",
	    4,
	    2,
	    "0-7",
	    "2-3,6-7",
	    { "0,4", "1,5" },
	    0,
	    0,
	    false,
	    { "2", "3" } },
	  false,
	  1,
	  false },
	{ { "one thread per core, in a step with one thread of each core: each rank gets one "
	    "thread",
	    4,
	    2,
	    "0-3",
	    "2-3,6-7",
	    { "0", "1" },
	    0,
	    0,
	    false,
	    { "2", "3" } },
	  false,
	  1,
	  false },
	{ { "one thread per core: ranks divide one thread of each core",
	    4,
	    2,
	    NULL,
	    "0-7",
	    { NULL },
	    2,
	    2,
	    false,
	    { "0-1", "2-3" } },
	  false,
	  1,
	  false },
	{ { "one thread per core, unbound: the rank gets one thread of each core",
	    4,
	    2,
	    "0-7",
	    "2-3,6-7",
	    { "0-7" },
	    0,
	    0,
	    false,
	    { "2-3" } },
	  true,
	  1,
	  false },
	{ { "--cpu-bind=threads: ranks get separate cores first",
	    4,
	    2,
	    "0-7",
	    "2-3,6-7",
	    { "0-7", "0-7", "0-7", "0-7" },
	    0,
	    0,
	    false,
	    { "2", "3", "6", "7" } },
	  false,
	  0,
	  true },
	{ { "--cpu-bind=threads, -c 2: ranks get neighbouring threads",
	    4,
	    2,
	    "0-7",
	    "2-3,6-7",
	    { "0-7", "0-7" },
	    0,
	    2,
	    false,
	    { "2,6", "3,7" } },
	  false,
	  0,
	  true },
	{ { "--cpu-bind=threads: more ranks than threads are refused",
	    4,
	    2,
	    "0-7",
	    "2,6",
	    { "0-7", "0-7", "0-7" },
	    0,
	    0,
	    false,
	    { "!3 ranks on 1 core: ask for more cpus, or use -O" } },
	  false,
	  0,
	  true },
};

static struct idset parsed(const char *list)
{
	struct idset s;
	struct errbuf err;

	if (idset_parse(&s, list, &err) < 0)
		bail("%s", err.text);
	return s;
}

static void run(const struct test *t, bool unbound, unsigned threads_per_core, bool by_thread)
{
	static struct idset core[MOST], bound[MOST], out[MOST];
	struct idset container = parsed(t->container), step = parsed(t->step ? t->step : "");
	struct rankmap_in in = {
		.n_ranks = t->ranks,
		.cpus_per_task = t->cpus_per_task,
		.overcommit = t->overcommit,
		.n_cores = t->cores,
		.core = core,
		.container = &container,
		.step_cpus = t->step ? &step : NULL,
		.unbound = unbound,
		.by_thread = by_thread,
		.threads_per_core = threads_per_core,
	};
	struct errbuf err = { 0 };
	int rc;

	for (unsigned c = 0; c < t->cores; c++) {
		idset_zero(&core[c]);
		for (unsigned k = 0; k < t->smt; k++)
			idset_add(&core[c], c + k * t->cores);
	}
	for (; t->bound[in.n_ranks] && !t->ranks; in.n_ranks++)
		bound[in.n_ranks] = parsed(t->bound[in.n_ranks]);
	in.bound = t->bound[0] ? bound : NULL;
	rc = rankmap_make(&in, out, &err);
	if (t->want[0][0] == '!') {
		is(rc < 0 ? err.text : "no error", t->want[0] + 1, "rankmap_make: %s", t->name);
		is_int(err.code, strstr(t->name, "no CPU") ? PLAN_OK : PLAN_NO_RANK_CPUS,
		       "rankmap_make: %s: sets the code of the refusal", t->name);
		return;
	}
	if (!ok(rc == 0, "rankmap_make: %s", t->name)) {
		diag("%s", err.text);
		return;
	}
	for (unsigned r = 0; r < in.n_ranks; r++) {
		struct idset want = parsed(t->want[r]);
		char got[IDSET_LIST_MAX];

		idset_format(&out[r], got, sizeof(got));
		if (!ok(idset_equal(&out[r], &want), "rankmap_make: %s: rank %u gets its CPUs",
			t->name, r))
			diag("got %s, expected %s", got, t->want[r]);
	}
}

/* The Argo paper's node: 21 ranks in a container of 22 cores, beside a container of one core. */
static void test_paper(void)
{
	static struct idset core[24], bound[21], out[21];
	struct idset container = parsed("1-22,25-46"), step = parsed("0-47");
	struct rankmap_in in = {
		.n_ranks = 21,
		.bound = bound,
		.step_cpus = &step,
		.n_cores = 24,
		.core = core,
		.container = &container,
	};
	bool right = true;

	for (unsigned c = 0; c < 24; c++) {
		idset_add(&core[c], c);
		idset_add(&core[c], c + 24);
	}
	for (unsigned r = 0; r < 21; r++)
		bound[r] = core[r];
	ok(rankmap_make(&in, out, NULL) == 0, "rankmap_make: maps 21 ranks to 22 cores");
	for (unsigned r = 0; r < 21; r++)
		right &= idset_equal(&out[r], &core[r + 1]);
	ok(right, "rankmap_make: rank r of 21 is on core r + 1, and the last core is idle");
}

/*
 * Random masks: every result is a non-empty subset of the container, and separate masks stay
 * separate while there are enough cores.
 */
static void test_random_maps(void)
{
	static struct idset core[16], bound[MOST], out[MOST], again[MOST];
	unsigned bad = 0, overlaps = 0, differ = 0;
	const unsigned seed = 20;

	diag("seed %u", seed);
	srand(seed);
	for (unsigned run = 0; run < 4000; run++) {
		unsigned cores = 1 + (unsigned)rand() % 16, smt = 1 + (unsigned)rand() % 3,
			 owned = 0;
		struct idset container = { 0 }, step = { 0 };
		struct rankmap_in in = {
			.n_ranks = 1 + (unsigned)rand() % 12,
			.bound = bound,
			.step_cpus = &step,
			.cpus_per_task = (unsigned)rand() % 5,
			.overcommit = rand() % 4 == 0,
			.n_cores = cores,
			.core = core,
			.container = &container,
		};

		for (unsigned c = 0; c < cores; c++) {
			bool mine = rand() % 2;

			idset_zero(&core[c]);
			for (unsigned k = 0; k < smt; k++) {
				idset_add(&core[c], c * smt + k);
				if (mine && (k == 0 || rand() % 4))
					idset_add(&container, c * smt + k);
				if (rand() % 5)
					idset_add(&step, c * smt + k);
			}
			owned += mine;
		}
		for (unsigned r = 0; r < in.n_ranks; r++) {
			idset_zero(&bound[r]);
			for (unsigned k = (unsigned)rand() % (2 * smt); k < 2 * smt; k++)
				idset_add(&bound[r], (unsigned)rand() % (cores * smt));
		}
		if (rankmap_make(&in, out, NULL) < 0) {
			bad += owned && (in.overcommit || in.n_ranks <= owned);
			continue;
		}
		rankmap_make(&in, again, NULL);
		bad += !owned || (!in.overcommit && in.n_ranks > owned);
		for (unsigned a = 0; a < in.n_ranks; a++) {
			bad += idset_empty(&out[a]) || !idset_subset(&out[a], &container);
			differ += !idset_equal(&out[a], &again[a]);
			for (unsigned b = 0; b < a && in.n_ranks <= owned; b++)
				overlaps += idset_intersects(&out[a], &out[b]) &&
					    !idset_intersects(&bound[a], &bound[b]) &&
					    in.n_ranks > 1;
		}
	}
	is_int(bad, 0,
	       "rankmap_make: random ranks are refused exactly when there are too many; others get "
	       "non-empty subsets of the container");
	is_int(overlaps, 0, "rankmap_make: ranks with random disjoint masks do not overlap");
	is_int(differ, 0, "rankmap_make: two calls give the same map for random masks");
}

static void test_large(void)
{
	static struct idset core[1024], bound[1024], out[1024];
	struct idset all = { 0 };
	struct rankmap_in in = {
		.n_ranks = 1024,
		.bound = bound,
		.step_cpus = &all,
		.n_cores = 1024,
		.core = core,
		.container = &all,
	};
	bool same = true;

	for (unsigned c = 0; c < 1024; c++) {
		idset_add(&core[c], c);
		idset_add(&bound[c], 1023 - c);
		idset_add(&all, c);
	}
	ok(rankmap_make(&in, out, NULL) == 0, "rankmap_make: maps 1,024 ranks to 1,024 cores");
	for (unsigned r = 0; r < 1024; r++)
		same &= idset_equal(&out[r], &bound[r]);
	ok(same, "rankmap_make: every rank keeps its mask when the container is the whole step");
}

/* A container's size counts threads, a step's ranks need cores: the message has both numbers. */
static void test_too_many_for_the_size(void)
{
	static const struct {
		unsigned threads; /* of a core */
		const char *container, *want, *name;
	} table[] = {
		{ 2, "0-1,4-5",
		  "4 ranks on 2 cores (cpus=4 are 4 threads): start fewer on each node, ask for a "
		  "larger container (cpus), or use -O",
		  "four ranks in cpus=4 of two-threaded cores are refused: cpus counts threads" },
		{ 1, "0-1",
		  "4 ranks on 2 cores: start fewer on each node, ask for a larger container "
		  "(cpus), or use -O",
		  "four ranks in cpus=2 of one-threaded cores are refused" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct idset core[4] = { 0 }, container = parsed(table[i].container), out[4];
		struct rankmap_in in = {
			.n_ranks = 4,
			.n_cores = 4,
			.core = core,
			.container = &container,
			.sized = true,
		};
		struct errbuf err = { 0 };

		for (unsigned id = 0; id < 4 * table[i].threads; id++)
			idset_add(&core[id % 4], id);
		is_int(rankmap_make(&in, out, &err), -1, "rankmap_make: %s", table[i].name);
		is(err.text, table[i].want, "rankmap_make: %s: gives the message", table[i].name);
	}
}

/* Eight domains of CORES / 8 cores of two threads, in two halves. */
static void test_domains(void)
{
	static const struct {
		const char *name;
		unsigned cores, ranks, cpus_per_task;
		bool by_thread;
		const char *container, *bound[9], *want[9];
	} table[] = {
		{ "nine ranks on eight domains: two ranks share one, and no rank straddles",
		  48,
		  9,
		  1,
		  false,
		  "0-95",
		  { NULL },
		  { "0-5,48-53", "6-11,54-59", "12-17,60-65", "18-23,66-71", "24-29,72-77",
		    "30-35,78-83", "36-41,84-89", "42-44,90-92", "45-47,93-95" } },
		{ "three ranks with -c 8 leave a core idle rather than straddle",
		  40,
		  3,
		  8,
		  false,
		  "0-79",
		  { NULL },
		  { "0-3,40-43", "5-8,45-48", "10-13,50-53" } },
		{ "two ranks in a container with a part of each domain straddle none",
		  16,
		  2,
		  1,
		  false,
		  "1-4,17-20",
		  { NULL },
		  { "1-3,17-19", "4,20" } },
		{ "ranks whose masks would straddle a domain in the container get other cores",
		  24,
		  2,
		  4,
		  false,
		  "2-8,26-32",
		  { "0-1,24-25", "4-5,28-29" },
		  { "3-4,27-28", "6-7,30-31" } },
		{ "--cpu-bind=threads -c 2 gives each rank two threads of one core",
		  8,
		  2,
		  2,
		  true,
		  "0-2,9-10",
		  { NULL },
		  { "1,9", "2,10" } },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		static struct idset core[MOST], domain[10], bound[9], out[9];
		struct idset container = parsed(table[i].container), step;
		unsigned cores = table[i].cores, wrong = 0;
		struct rankmap_in in = {
			.n_ranks = table[i].ranks,
			.cpus_per_task = table[i].cpus_per_task,
			.by_thread = table[i].by_thread,
			.bound = table[i].bound[0] ? bound : NULL,
			.step_cpus = &step,
			.n_cores = cores,
			.core = core,
			.container = &container,
			.n_domains = 10,
			.domain = domain,
		};
		struct errbuf err = { 0 };

		memset(domain, 0, sizeof(domain));
		idset_zero(&step);
		for (unsigned c = 0; c < cores; c++) {
			idset_zero(&core[c]);
			idset_add(&core[c], c);
			idset_add(&core[c], c + cores);
			idset_or(&step, &core[c]);
			idset_or(&domain[c / (cores / 8)], &core[c]);
			idset_or(&domain[8 + c / (cores / 2)], &core[c]);
		}
		for (unsigned r = 0; r < in.n_ranks && in.bound; r++)
			bound[r] = parsed(table[i].bound[r]);
		if (!ok(rankmap_make(&in, out, &err) == 0, "rankmap_make: %s", table[i].name))
			diag("%s", err.text);
		for (unsigned r = 0; r < in.n_ranks; r++) {
			struct idset want = parsed(table[i].want[r]);
			char got[128];

			if (idset_equal(&out[r], &want))
				continue;
			wrong++;
			diag("rank %u: %s, expected %s", r, idset_brief(got, &out[r]),
			     table[i].want[r]);
		}
		is_int(wrong, 0, "rankmap_make: %s: gives the ranks their CPUs", table[i].name);
	}
}

int main(void)
{
	test_domains();
	test_too_many_for_the_size();
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		run(&tests[i], false, 0, false);
	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++)
		run(&wishes[i].test, wishes[i].unbound, wishes[i].threads_per_core,
		    wishes[i].by_thread);
	test_paper();
	test_random_maps();
	test_large();
	return tap_done();
}
