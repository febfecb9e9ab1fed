/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of root's checks of a plan from the helper. Plans of the real planner for random
 * requests on the machines of machines.txt pass; each of them with one field changed is refused.
 *
 * usage: job_plan_check_test [SEED [REQUESTS-PER-MACHINE]]
 */
#include "container/job_plan_check.h"

#include "base/test/fixture.h"
#include "base/test/rnd.h"
#include "base/test/tap.h"
#include "container/planner.h"

#define OUTSIDE (IDSET_MAX - 1) /* no machine here has such a CPU or memory node */

#define GOOD                                                                              \
	"nodeos-plan 1\ncore 0,4\ncore 1,5\ncore 2,6\ncore 3,7\n"                         \
	"container sim cpus 0-1,4-5 reserved 0-1,4-5 mems 0 asked 4 confined 1 shared 0 " \
	"kinds dram,hbm\n"                                                                \
	"container vda cpus 2 reserved 2,6 mems 0-1 asked 1 confined 0 shared 1\nend\n"

static struct job_plan *good(void)
{
	struct errbuf err = { 0 };
	struct job_plan *p;
	const char *at = GOOD;

	if (job_plan_parse(&p, &at, &err) < 0)
		bail("%s", err.text);
	return p;
}

static struct request two(void)
{
	struct request r;
	struct errbuf err = { 0 };

	if (request_parse(&r, "nodeos 1;c=sim cpus=4 mems=1;c=vda cpus=1 smt=1;", &err) < 0)
		bail("%s", err.text);
	return r;
}

/* Make each of these changes to a good plan; the check must refuse it. */
static void test_lies(void)
{
	static const struct {
		const char *cpus, *reserved, *mems;
		int container;
		const char *what;
	} lie[] = {
		{ "0-1,4-5", "0-1,4-5", "0", 0, NULL }, /* the truth */
		{ "0-1,4", "0-1,4", "0", 0, "fewer CPUs than asked" },
		{ "0-1,4-5,8", "0-1,4-5,8", "0", 0, "CPUs outside the job" },
		{ "0-1,4-5", "0-1,4", "0", 0, "CPUs that are not reserved" },
		{ "1-2,4-5", "1-2,4-5", "0", 0, "a CPU of the other container" },
		{ "0-1,4-5", "0-1,4-5,6", "0", 0, "an idle sibling of the other" },
		{ "0-1,4-5", "0-1,4-5", "0-1", 0, "more memory nodes than asked" },
		{ "0-1,4-5", "0-1,4-5", "3", 0, "a memory node outside the job" },
		{ "2", "2,6", "", 1, "no memory node" },
		{ "", "2,6", "0", 1, "no CPU" },
	};
	const struct plan_input in = { .cores = set_of("0-7"),
				       .cpus = set_of("0-7"),
				       .mems = set_of("0-1") };
	const struct blocks none = { .on = false };
	struct request r = two();
	struct errbuf err;

	for (size_t i = 0; i < sizeof(lie) / sizeof(lie[0]); i++) {
		struct job_plan *p = good();
		struct planned_container *c = &p->container[lie[i].container];

		c->cpus = set_of(lie[i].cpus);
		c->reserved = set_of(lie[i].reserved);
		c->mems = set_of(lie[i].mems);
		is_int(job_plan_check(p, &r, &in, &none, "", &err), lie[i].what ? -1 : 0, "%s%s",
		       lie[i].what ? "refused: " : "a true plan", lie[i].what ? lie[i].what : "");
		job_plan_free(p);
	}
}

/* One core for each possible CPU number, in a job of eight CPUs. */
static void test_many_cores(void)
{
	const struct plan_input in = { .cores = set_of("0-7"),
				       .cpus = set_of("0-6"),
				       .mems = set_of("0-1") };
	const struct blocks none = { .on = false };
	struct request r = two();
	struct job_plan *p = good();
	struct errbuf err = { 0 };

	is_int(job_plan_check(p, &r, &in, &none, "", &err), 0,
	       "the plan may list cores of the job that no container has");
	for (unsigned id = 8; id < IDSET_MAX; id++) {
		struct idset one;

		idset_zero(&one);
		idset_add(&one, id);
		if (job_plan_add_core(p, &one) < 0)
			bail("out of memory");
	}
	is_int(job_plan_check(p, &r, &in, &none, "", &err), -1, "refused: 4,088 cores too many");
	is(err.text, "the plan has cores outside the job's",
	   "the message says that cores are not the job's");
	p->n_cores = 4;
	idset_add(&p->core[3], 8);
	is_int(job_plan_check(p, &r, &in, &none, "", &err), -1,
	       "refused: a core with a thread of another job");
	job_plan_free(p);
}

/* ------------------------------------------------------------- plans of the real planner */

#define MOST 4

/* A request to the planner on a machine, and the state that root knows. */
struct situation {
	const struct machine *m;
	struct blocks blocks; /* each node, with the bytes that the planner counts */
	bool equal; /* all have the same size */
	struct request r;
	struct plan_input in;
	struct job_plan *p;
	struct errbuf err;
};

enum change {
	CORE_MORE, /* a core outside of the job's */
	CORE_LARGER,
	CONFINED,
	MEMS_OUTSIDE,
	MEMS_MORE, /* one node more than the request asks for */
	MEMS_SWAPPED, /* resize: another node in place of one that the container has */
	CHANGES
};

static const char *const change_name[] = {
	"a core outside of the job", "a core larger than the job",    "confined flipped",
	"a memory node outside",     "a memory node more than asked", "another memory node",
};
static unsigned tried[2][CHANGES]; /* launch, resize */

static struct idset some_of(const struct idset *all, unsigned keep_percent)
{
	struct idset s;

	idset_zero(&s);
	for (int id = idset_next(all, -1); id >= 0; id = idset_next(all, id))
		if (rnd(100) < keep_percent)
			idset_add(&s, (unsigned)id);
	return idset_empty(&s) ? *all : s;
}

/* Write the sysfs of the machine's memory nodes below the scratch directory, and read the
 * blocks. */
static void describe_memory(struct situation *s)
{
	const struct idset *mems = machine_mems(s->m);
	uint64_t first = 0;

	s->blocks.on = true;
	s->blocks.block = calloc(idset_count(mems), sizeof(*s->blocks.block));
	s->equal = true;
	for (int id = idset_next(mems, -1); id >= 0; id = idset_next(mems, id)) {
		struct block *b = &s->blocks.block[s->blocks.n++];
		char path[128], text[128];
		struct idset one;

		idset_zero(&one);
		idset_add(&one, (unsigned)id);
		b->node = b->home = (unsigned)id;
		b->usable = b->present = machine_usable(s->m, &one);
		first = first ? first : b->usable;
		s->equal &= b->usable == first;
		snprintf(path, sizeof(path), "sys/devices/system/node/node%d", id);
		scratch_dir(path);
		snprintf(path, sizeof(path), "sys/devices/system/node/node%d/meminfo", id);
		snprintf(text, sizeof(text), "Node %d MemTotal: %llu kB\n", id,
			 (unsigned long long)(b->usable >> 10));
		scratch_file(path, text);
	}
}

static void ask_memory(struct requested_container *c, const struct machine *m, unsigned kind)
{
	c->mems_kind = kind == 0 ? MEMS_UNSET : kind == 1 ? MEMS_COUNT : MEMS_SIZE;
	if (c->mems_kind == MEMS_COUNT)
		c->mems = 1 + rnd(idset_count(machine_mems(m)));
	else if (c->mems_kind == MEMS_SIZE)
		c->mems = 1 + (machine_usable(m, machine_mems(m)) >> 20) * rnd(100) / 100 * 1048576;
	else
		c->mems = 0;
}

/* Plan a random request; false: the planner refuses it. *S then has no plan. */
static bool plan_random_request(struct situation *s)
{
	unsigned left;

	memset(&s->in, 0, sizeof(s->in));
	memset(&s->r, 0, sizeof(s->r));
	s->in.cores = *machine_cpus(s->m);
	s->in.cpus = some_of(machine_cpus(s->m), rnd(2) ? 100 : 85);
	s->in.mems = some_of(machine_mems(s->m), rnd(2) ? 100 : 75);
	if (rnd(3) == 0)
		s->in.mems_taken = some_of(&s->in.mems, 40);
	s->in.default_mems = (enum mems_default)rnd(3);
	s->r.n = 1 + rnd(MOST);
	left = idset_count(&s->in.cpus);
	for (unsigned i = 0; i < s->r.n; i++) {
		struct requested_container *c = &s->r.container[i];

		snprintf(c->name, sizeof(c->name), "c%u", i);
		c->cpus = 1 + rnd(left / s->r.n);
		c->smt = rnd(3) ? 0 : 1;
		ask_memory(c, s->m, rnd(3));
	}
	return planner_make(&s->p, s->m, &s->r, &s->in, &s->err) == 0;
}

/* Resize one container of *S: S->in, r and p become the resize's. */
static bool resize_some(struct situation *s)
{
	unsigned i = rnd(s->r.n);
	struct planned_container has = s->p->container[i];
	struct requested_container *c = &s->r.container[0];

	*c = s->r.container[i];
	s->in.resize = true;
	s->in.default_mems = MEMS_ALL;
	s->in.has_cpus = has.cpus;
	s->in.has_reserved = has.reserved;
	s->in.has_mems = has.mems;
	s->in.has_confined = has.confined;
	for (unsigned k = 0; k < s->p->n; k++)
		if (k != i)
			idset_andnot(&s->in.cpus, &s->p->container[k].reserved);
	if (has.confined)
		idset_andnot(&s->in.mems_taken, &has.mems);
	s->r.n = 1;
	c->cpus = rnd(3) ? 1 + rnd(idset_count(&s->in.cpus)) : 0;
	ask_memory(c, s->m, rnd(3));
	if (c->mems_kind == MEMS_COUNT && rnd(4) == 0)
		c->mems = idset_count(&has.mems);
	job_plan_free(s->p);
	s->p = NULL;
	return planner_resize(&s->p, s->m, &s->r, &s->in, &s->err) == 0;
}

/* An offered node outside of HAVE, or -1. */
static int another(const struct situation *s, const struct idset *have)
{
	struct idset left = s->in.mems;

	idset_andnot(&left, have);
	return idset_next(&left, -1);
}

/* Change container I of the plan; false: there is nothing to change, or root cannot see the
 * change. */
static bool change_plan(struct situation *s, unsigned i, enum change what)
{
	struct planned_container *c = &s->p->container[i];
	const struct requested_container *ask = &s->r.container[i];
	struct idset more = s->in.has_mems;
	int node;

	switch (what) {
	case CORE_MORE:
		idset_zero(&more);
		idset_add(&more, OUTSIDE);
		return job_plan_add_core(s->p, &more) == 0;
	case CORE_LARGER:
		idset_add(&s->p->core[s->p->n_cores - 1], OUTSIDE);
		return true;
	case CONFINED:
		/* the container may satisfy a request by size already */
		if (s->in.resize && ask->mems_kind == MEMS_SIZE && !s->in.has_confined &&
		    idset_equal(&c->mems, &s->in.has_mems))
			return false;
		c->confined = !c->confined;
		return true;
	case MEMS_OUTSIDE:
		idset_add(&c->mems, OUTSIDE);
		return true;
	case MEMS_MORE:
		node = another(s, &c->mems);
		if (node < 0 || (ask->mems_kind == MEMS_UNSET && !s->in.resize) ||
		    (ask->mems_kind == MEMS_SIZE && !s->equal))
			return false;
		idset_add(&c->mems, (unsigned)node);
		return true;
	case MEMS_SWAPPED:
		idset_or(&more, &c->mems);
		node = another(s, &more);
		if (!s->in.resize || node < 0 || idset_count(&s->in.has_mems) < 2 ||
		    !idset_equal(&c->mems, &s->in.has_mems))
			return false;
		idset_del(&c->mems, (unsigned)idset_next(&c->mems, -1));
		idset_add(&c->mems, (unsigned)node);
		return true;
	case CHANGES:
		break;
	}
	return false;
}

static int check(struct situation *s)
{
	return job_plan_check(s->p, &s->r, &s->in, &s->blocks, scratch, &s->err);
}

/* NULL, or a description of the plan or change of S that the check judges wrongly. */
static const char *wrong(struct situation *s)
{
	struct planned_container *kept = calloc(s->p->n, sizeof(*kept));
	unsigned n_cores = s->p->n_cores;
	struct idset core = s->p->core[n_cores - 1];
	const char *bad = NULL;

	memcpy(kept, s->p->container, s->p->n * sizeof(*kept));
	if (check(s) < 0)
		bad = s->err.text;
	for (unsigned i = 0; i < s->p->n && !bad; i++)
		for (int what = 0; what < CHANGES && !bad; what++) {
			if (change_plan(s, i, (enum change)what)) {
				tried[s->in.resize][what]++;
				if (check(s) == 0)
					bad = change_name[what];
			}
			memcpy(s->p->container, kept, s->p->n * sizeof(*kept));
			s->p->n_cores = n_cores;
			s->p->core[n_cores - 1] = core;
		}
	free(kept);
	return bad;
}

static void show(const struct situation *s)
{
	diag("cpus %s mems %s has %s default %d", list_of(&s->in.cpus), list_of(&s->in.mems),
	     list_of(&s->in.has_mems), s->in.default_mems);
	for (unsigned i = 0; i < s->r.n; i++)
		diag("%s cpus %u mems %d %llu: mems %s confined %d", s->r.container[i].name,
		     s->r.container[i].cpus, s->r.container[i].mems_kind,
		     (unsigned long long)s->r.container[i].mems, list_of(&s->p->container[i].mems),
		     s->p->container[i].confined);
}

static void test_machine(const char *description, unsigned requests)
{
	struct situation s = { 0 };
	struct machine *m;
	const char *bad = NULL;
	unsigned made = 0, launches = 0;

	if (machine_load_synthetic(&m, description, &s.err) < 0)
		bail("%s: %s", description, s.err.text);
	s.m = m;
	describe_memory(&s);
	for (unsigned i = 0; i < requests && !bad; i++) {
		bool planned = plan_random_request(&s);

		launches += planned;
		for (int resized = 0; planned && !bad && resized < 2; resized++) {
			made++;
			bad = wrong(&s);
			if (bad)
				show(&s);
			else if (resized == 0)
				planned = resize_some(&s);
		}
		if (planned)
			job_plan_free(s.p);
	}
	is(bad, NULL, "%.60s: %u plans pass, and every change to them is refused", description,
	   made);
	ok(launches, "%.60s: %u of %u requests are planned", description, launches, requests);
	machine_free(m);
	free(s.blocks.block);
}

int main(int argc, char **argv)
{
	const char *source = getenv("NODEOS_SOURCE");
	unsigned requests = argc > 2 ? (unsigned)atoi(argv[2]) : 50;
	char path[512], *line = NULL;
	size_t size = 0;
	FILE *f;

	if (argc > 1)
		rnd_state = strtoull(argv[1], NULL, 10) | 1;
	scratch_make();
	test_lies();
	test_many_cores();
	snprintf(path, sizeof(path), "%s/topology/test/machines.txt", source ? source : ".");
	f = fopen(path, "r");
	if (!f)
		bail("cannot open %s", path);
	while (getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (*line && *line != '#')
			test_machine(line, requests);
	}
	free(line);
	fclose(f);
	for (int i = 0; i < CHANGES; i++) {
		if (i != MEMS_SWAPPED)
			ok(tried[0][i], "launch: %s, in %u plans", change_name[i], tried[0][i]);
		ok(tried[1][i], "resize: %s, in %u plans", change_name[i], tried[1][i]);
	}
	return tap_done();
}
