/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of plan_resize(): cases on small machines, worked out by hand, and properties of random
 * resizes on the machines of machines.txt.
 *
 * usage: resize_test [SEED [ASKS-PER-MACHINE]]
 */
#define _POSIX_C_SOURCE 200809L /* getline */
#include "topology/resize.h"

#include <stdlib.h>

#include "base/test/rnd.h"
#include "base/test/tap.h"
#include "topology/machine.h"

static struct idset set_of(const char *list)
{
	struct errbuf err;
	struct idset s;

	if (idset_parse(&s, list, &err) < 0)
		abort();
	return s;
}

/*
 * Two packages, each with one memory node and two L3 domains of four cores. CPUs and memory nodes
 * are numbered in order.
 */
static const char small[] = "pack:2 numa:1 l3:2 core:4 pu:1";

/* only rows with a refusal set CODE */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

struct test {
	const char *name, *machine;
	const char *cpus, *reserved, *mems, *free_cpus, *free_mems;
	unsigned want, smt;
	unsigned mems_count; /* 0: the size does not change */
	const char *want_cpus,
		*want_mems; /* the expected sets, or in want_cpus '!' and the expected error */
	enum plan_refusal code; /* code of the expected error */
	enum placement_word placement;
	bool by_kind; /* if set, want_mems counts nodes of KIND only */
	enum memory_kind kind;
};

static const struct test tests[] = {
	{ "growth within the container's L3 domain", small, "0-1", "0-1", "0", "2-15", "0-1", 4, 0,
	  0, "0-3", "0" },
	{ "growth beyond the container's L3 domain, within its package", small, "0-1", "0-1", "0",
	  "2-15", "0-1", 6, 0, 0, "0-5", "0" },
	{ "growth takes a near CPU though a far L3 domain is free", small, "0-1", "0-1", "0",
	  "3,8-15", "0-1", 3, 0, 0, "0-1,3", "0" },
	{ "growth takes near CPUs first, then far ones", small, "0-1", "0-1", "0", "3,8-15", "0-1",
	  4, 0, 0, "0-1,3,8", "0" },
	{ "shrinking to one L3 domain", small, "2-7", "2-7", "0", "", "", 4, 0, 0, "4-7", "0" },
	{ "shrinking to one package", small, "6-9,12", "6-9,12", "0-1", "", "", 3, 0, 0, "8-9,12",
	  "0-1" },
	{ "shrinking keeps the CPUs near the container's memory", small, "4-11", "4-11", "1", "",
	  "", 4, 0, 0, "8-11", "1" },
	{ "the present size", small, "0-1", "0-1", "0", "2-3", "1", 2, 0, 0, "0-1", "0" },
	{ "more than the machine has", small, "0-1", "0-1", "0", "2-3", "1", 5, 0, 0,
	  "!container a has 2 threads and can have 4 at most here (5 requested)", NULL,
	  PLAN_NO_CPUS },
	{ "growth by whole cores", "core:4 pu:2", "0-1", "0-1", "0", "2-7", "", 3, 0, 0, "0-3",
	  "0" },
	{ "an odd number of threads that the container's whole cores already give", "core:4 pu:2",
	  "0-3", "0-3", "0", "", "", 3, 0, 0, "0-3", "0" },
	{ "growth of a container that uses one thread of each core", "core:4 pu:2", "0,2", "0-3",
	  "0", "4-7", "", 3, 1, 0, "0,2,4", "0" },
	{ "shrinking of a container that uses one thread of each core", "core:4 pu:2", "0,2", "0-3",
	  "0", "4-7", "", 1, 1, 0, "0", "0" },
	{ "growth by a second memory node", small, "0-3", "0-3", "0", "", "1", 0, 0, 2, "0-3",
	  "0-1" },
	{ "shrinking keeps the near memory node", small, "8-11", "8-11", "0-1", "", "", 0, 0, 1,
	  "8-11", "1" },
	{ "an expander of the whole machine is not added", "cxlroot.xml", "0-3", "0-3", "0", "",
	  "2", 0, 0, 2, "!container a has 1 memory nodes and can have 1 at most here (2 requested)",
	  NULL, PLAN_NO_MEMS },
	{ "growth takes DRAM of the other package, not special memory", "cxlroot.xml", "0-3", "0-3",
	  "0", "", "1-2", 0, 0, 2, "0-3", "0-1" },
	{ "shrinking gives up a special node first", "cxlroot.xml", "0-3", "0-3", "0,2", "", "", 0,
	  0, 1, "0-3", "0" },
	{ "shrinking to fewer CPUs keeps a special memory node", "cxlroot.xml", "0-3", "0-3", "2",
	  "", "", 2, 0, 0, "0-1", "2" },
	{ "no special node is added", small, "0-3", "0-3", "0-1", "", "", 0, 0, 3,
	  "!container a has 2 memory nodes and can have 2 at most here (3 requested)", NULL,
	  PLAN_NO_MEMS },
	{ "growth of a packed container over two packages", small, "0,8", "0,8", "0-1", "1-7,9-15",
	  "", 4, 0, 0, "0-2,8", "0-1", PLAN_OK, PLACEMENT_PACK },
	{ "growth of a spread container", small, "0,8", "0,8", "0-1", "1-7,9-15", "", 4, 0, 0,
	  "0-1,8-9", "0-1", PLAN_OK, PLACEMENT_SPREAD_PACKAGE },
	{ "shrinking of a spread container", small, "0-1,8-9", "0-1,8-9", "0-1", "", "", 2, 0, 0,
	  "0,8", "0-1", PLAN_OK, PLACEMENT_SPREAD },
	{ "growth of a container spread over caches", small, "0", "0", "0", "1-15", "", 4, 0, 0,
	  "0,4,8,12", "0", PLAN_OK, PLACEMENT_SPREAD_L3 },
	{ "growth by a node of a kind that the container does not have yet", "gh200.xml", "0-3",
	  "0-3", "0", "", "1", 0, 0, 1, "0-3", "0-1", PLAN_OK, PLACEMENT_UNSET, true, MEMORY_GPU },
	{ "growth by nodes of one kind keeps those of another kind", "cxlroot.xml", "0-3", "0-3",
	  "0,2", "", "1", 0, 0, 2, "0-3", "0-2", PLAN_OK, PLACEMENT_UNSET, true, MEMORY_DRAM },
	{ "shrinking of one kind of nodes keeps those of another kind", "cxlroot.xml", "0-3", "0-3",
	  "0-2", "", "", 0, 0, 1, "0-3", "0,2", PLAN_OK, PLACEMENT_UNSET, true, MEMORY_DRAM },
	{ "more nodes of a kind than the machine has", "cxlroot.xml", "0-3", "0-3", "0,2", "", "1",
	  0, 0, 2,
	  "!container a has 1 unknown memory nodes and can have 1 at most here (2 requested)", NULL,
	  PLAN_NO_MEMS, PLACEMENT_UNSET, true, MEMORY_UNKNOWN },
};

static void run(const struct test *t)
{
	struct resize_ask ask = {
		.name = "a",
		.cpus = set_of(t->cpus),
		.reserved = set_of(t->reserved),
		.mems = set_of(t->mems),
		.mems_confined = true,
		.free_cpus = set_of(t->free_cpus),
		.free_mems = set_of(t->free_mems),
		.want_cpus = t->want,
		.smt = t->smt,
		.placement = t->placement,
		.mems_kind = t->mems_count ? MEMS_COUNT : MEMS_UNSET,
		.want_mems = t->mems_count,
		.by_kind = t->by_kind,
		.kind = t->kind,
	};
	struct plan_container got;
	struct errbuf err = { 0 };
	struct machine *m;
	const char *source = getenv("NODEOS_SOURCE");
	char buf[128], path[4096];
	int rc;

	snprintf(path, sizeof(path), "%s/topology/test/machines/%s", source ? source : ".",
		 t->machine);
	if (machine_load_arg(&m, strstr(t->machine, ".xml") ? path : t->machine, &err) < 0)
		abort();
	rc = plan_resize(&got, m, &ask, &err);
	if (*t->want_cpus == '!') {
		is(rc < 0 ? err.text : "no error", t->want_cpus + 1,
		   "plan_resize: %s: the resize is refused with the reason", t->name);
		is_int(err.code, (int)t->code, "plan_resize: %s: the refusal has the right code",
		       t->name);
	} else if (is_int(rc, 0, "plan_resize: %s: the resize succeeds (%s)", t->name, err.text)) {
		is(idset_brief(buf, &got.cpus), t->want_cpus,
		   "plan_resize: %s: the container gets the expected CPUs", t->name);
		is(idset_brief(buf, &got.mems), t->want_mems,
		   "plan_resize: %s: the container gets the expected memory nodes", t->name);
		ok(strncmp(got.why, RESIZED " ", strlen(RESIZED " ")) == 0,
		   "plan_resize: %s: the explanation begins with \"resized\": %s", t->name,
		   got.why);
		free(got.why);
	}
	machine_free(m);
}

static unsigned usable(const struct plan_core *core, unsigned n, const struct idset *in,
		       unsigned smt)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++) {
		struct idset s = core[i].cpus;
		unsigned threads;

		idset_and(&s, in);
		threads = idset_count(&s);
		sum += smt && threads > smt ? smt : threads;
	}
	return sum;
}

/* Plan a container and resize it at random. Returns what is wrong with the result, or NULL. */
static const char *wrong(const struct machine *m)
{
	struct plan_opts opts = { .cpus = *machine_cpus(m),
				  .mems = *machine_mems(m),
				  .default_mems = MEMS_ALL };
	struct plan_ask ask = { .name = "a",
				.cpus = 1 + rnd(idset_count(machine_cpus(m))),
				.smt = rnd(3) ? 0 : 1 };
	struct resize_ask r = { .name = "a", .smt = ask.smt };
	struct plan_container got;
	struct plan_core *core;
	unsigned n, all, width = 1;
	struct idset may;
	struct errbuf err = { 0 };
	struct plan *p;
	const char *bad = NULL;

	for (unsigned i = rnd(20); i; i--)
		idset_del(&opts.cpus, rnd(idset_count(machine_cpus(m))));
	if (idset_empty(&opts.cpus) || plan_make(&p, m, &opts, &ask, 1, &err) < 0)
		return NULL; /* the machine has fewer free threads */
	r.cpus = p->container[0].cpus;
	r.reserved = p->container[0].reserved;
	r.mems = p->container[0].mems;
	plan_free(p);
	r.free_cpus = opts.cpus;
	idset_andnot(&r.free_cpus, &r.reserved);
	may = r.free_cpus;
	idset_or(&may, &r.reserved);
	if (machine_cores(m, &may, &core, &n, &err) < 0)
		abort();
	for (unsigned i = 0; i < n; i++)
		width = idset_count(&core[i].cpus) > width ? idset_count(&core[i].cpus) : width;
	all = usable(core, n, &may, r.smt);
	r.want_cpus = 1 + rnd(all + 2);
	if (plan_resize(&got, m, &r, &err) < 0) {
		bad = r.want_cpus <= all ? "refused though there are enough CPUs and memory nodes"
					 : NULL;
	} else {
		unsigned given = idset_count(&got.cpus), had = idset_count(&r.cpus);

		free(got.why);
		if (r.want_cpus > all)
			bad = "more CPUs than the machine has";
		else if (!idset_subset(&got.cpus, &got.reserved) ||
			 !idset_subset(&got.reserved, &may))
			bad = "the container has a CPU that it may not have";
		else if (given < r.want_cpus || given >= r.want_cpus + width)
			bad = "the container does not have the requested number of threads, "
			      "rounded up to whole cores";
		else if (r.want_cpus >= had ? !idset_subset(&r.reserved, &got.reserved)
					    : !idset_subset(&got.reserved, &r.reserved))
			bad = "a growing container lost CPUs, or a shrinking one got new CPUs";
		for (unsigned i = 0; i < n && !bad; i++)
			if (idset_intersects(&core[i].cpus, &got.reserved) &&
			    !idset_subset(&core[i].cpus, &got.reserved))
				bad = "only part of a core is reserved";
	}
	free(core);
	return bad;
}

int main(int argc, char **argv)
{
	const char *source = getenv("NODEOS_SOURCE");
	unsigned asks = argc > 2 ? (unsigned)atoi(argv[2]) : 300;
	char path[512], *line = NULL;
	size_t size = 0;
	FILE *f;

	rnd_state = argc > 1 ? strtoull(argv[1], NULL, 10) | 1 : 424242;
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		run(&tests[i]);
	snprintf(path, sizeof(path), "%s/topology/test/machines.txt", source ? source : ".");
	f = fopen(path, "r");
	if (!ok(f != NULL, "the test can open %s", path))
		return tap_done();
	while (getline(&line, &size, f) > 0) {
		struct machine *m;
		struct errbuf err = { 0 };
		const char *bad = NULL;

		line[strcspn(line, "\n")] = '\0';
		if (!*line || *line == '#' || machine_load_synthetic(&m, line, &err) < 0)
			continue;
		for (unsigned i = 0; i < asks && !bad; i++)
			bad = wrong(m);
		is(bad, NULL, "plan_resize: %.60s: %u random resizes keep all properties", line,
		   asks);
		machine_free(m);
	}
	free(line);
	fclose(f);
	return tap_done();
}
