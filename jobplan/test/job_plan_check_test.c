/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of root's checks of a plan from the helper. Plans of the real planner for random requests
 * on the machines of machines.txt pass; each plan with one field changed is refused.
 *
 * usage: job_plan_check_test [SEED [REQUESTS-PER-MACHINE]]
 */
#include "jobplan/job_plan_check.h"

#include "base/test/fixture.h"
#include "base/test/rnd.h"
#include "base/test/tap.h"
#include "jobplan/planner.h"

#define OUTSIDE (IDSET_MAX - 1) /* no machine of this test has such a CPU or memory node */

#define GOOD                                                                              \
	"nodeos-plan 1\ncore 0,4\ncore 1,5\ncore 2,6\ncore 3,7\n"                         \
	"container sim cpus 0-1,4-5 reserved 0-1,4-5 mems 0 asked 4 confined 1 shared 0 " \
	"kinds dram,hbm\n"                                                                \
	"container vda cpus 2 reserved 2,6 mems 0-1 asked 1 confined 0 shared 1\nend\n"

static struct job_plan *good_plan(void)
{
	struct errbuf err = { 0 };
	struct job_plan *p;
	const char *at = GOOD;

	if (job_plan_parse(&p, &at, &err) < 0)
		bail("%s", err.text);
	return p;
}

static struct request two_containers(void)
{
	struct request r;
	struct errbuf err = { 0 };

	if (request_parse(&r, "nodeos 1;c=sim cpus=4 mems=1;c=vda cpus=1 smt=1;", &err) < 0)
		bail("%s", err.text);
	return r;
}

/* A resize to two nodes of DRAM, of a container with node 0 of DRAM and node 2 of HBM. */
static void test_resize_by_kind(void)
{
	static const struct {
		const char *mems, *dram, *what;
		int rc;
	} row[] = {
		{ "0-2", "0-1", "one node of the kind added", 0 },
		{ "0-3", "0-1", "one node of another kind added", -1 },
		{ "0-2", "0", "fewer nodes of the kind than asked", -1 },
		{ "0-1", "0-1", "one node of another kind removed", -1 },
		{ "0,2", "0-1", "nodes of the kind that the container does not get", -1 },
	};
	const struct plan_input in = { .cores = set_of("0-7"),
				       .cpus = set_of("0-7"),
				       .mems = set_of("0-3"),
				       .resize = true,
				       .has_cpus = set_of("0-1,4-5"),
				       .has_reserved = set_of("0-1,4-5"),
				       .has_mems = set_of("0,2"),
				       .has_confined = true };
	const struct blocks none = { .on = false };
	struct request r = two_containers();
	struct errbuf err;

	r.n = 1;
	r.container[0].mems_kind = MEMS_WANTS;
	r.container[0].n_wants = 1;
	r.container[0].want[0] = (struct mems_want){ MEMORY_DRAM, false, 2 };
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct job_plan *p = good_plan();

		p->n = 1;
		p->container[0].mems = set_of(row[i].mems);
		p->container[0].kind_mems[MEMORY_DRAM] = set_of(row[i].dram);
		err.text[0] = '\0';
		is_int(job_plan_check(p, &r, &in, &none, "", &err), row[i].rc,
		       "job_plan_check: resize by kind: %s %s", row[i].what, err.text);
		job_plan_free(p);
	}
}

/* Make one of these changes to a good plan; the check must refuse the result. */
static void test_changed_plans(void)
{
	static const struct {
		const char *cpus, *reserved, *mems;
		int container;
		const char *what;
	} lie[] = {
		{ "0-1,4-5", "0-1,4-5", "0", 0, NULL }, /* unchanged */
		{ "0-1,4", "0-1,4", "0", 0, "fewer CPUs than asked" },
		{ "0-1,4-5,8", "0-1,4-5,8", "0", 0, "CPUs outside the job" },
		{ "0-1,4-5", "0-1,4", "0", 0, "CPUs that are not reserved" },
		{ "1-2,4-5", "1-2,4-5", "0", 0, "a CPU of the other container" },
		{ "0-1,4-5", "0-1,4-5,6", "0", 0, "an idle sibling of the other container" },
		{ "0-1,4-5", "0-1,4-5", "0-1", 0, "more memory nodes than asked" },
		{ "0-1,4-5", "0-1,4-5", "3", 0, "a memory node outside the job" },
		{ "2", "2,6", "", 1, "no memory node" },
		{ "", "2,6", "0", 1, "no CPU" },
	};
	const struct plan_input in = { .cores = set_of("0-7"),
				       .cpus = set_of("0-7"),
				       .mems = set_of("0-1") };
	const struct blocks none = { .on = false };
	struct request r = two_containers();
	struct errbuf err;

	for (size_t i = 0; i < sizeof(lie) / sizeof(lie[0]); i++) {
		struct job_plan *p = good_plan();
		struct planned_container *c = &p->container[lie[i].container];

		c->cpus = set_of(lie[i].cpus);
		c->reserved = set_of(lie[i].reserved);
		c->mems = set_of(lie[i].mems);
		is_int(job_plan_check(p, &r, &in, &none, "", &err), lie[i].what ? -1 : 0, "%s%s",
		       lie[i].what ? "refused: " : "a good plan is accepted",
		       lie[i].what ? lie[i].what : "");
		job_plan_free(p);
	}
}

/* Make a job of eight CPUs, and a plan with one core for each possible CPU number. */
static void test_many_cores(void)
{
	const struct plan_input in = { .cores = set_of("0-7"),
				       .cpus = set_of("0-6"),
				       .mems = set_of("0-1") };
	const struct blocks none = { .on = false };
	struct request r = two_containers();
	struct job_plan *p = good_plan();
	struct errbuf err = { 0 };

	is_int(job_plan_check(p, &r, &in, &none, "", &err), 0,
	       "job_plan_check: accepts cores that no container has");
	for (unsigned id = 8; id < IDSET_MAX; id++) {
		struct idset one;

		idset_zero(&one);
		idset_add(&one, id);
		if (job_plan_add_core(p, &one) < 0)
			bail("out of memory");
	}
	is_int(job_plan_check(p, &r, &in, &none, "", &err), -1,
	       "job_plan_check: refuses 4,088 cores outside of the job");
	is(err.text, "the plan has cores outside of the job's",
	   "the message names cores outside of the job");
	p->n_cores = 4;
	idset_add(&p->core[3], 8);
	is_int(job_plan_check(p, &r, &in, &none, "", &err), -1,
	       "job_plan_check: refuses a core with a thread of another job");
	job_plan_free(p);
}

/* ------------------------------------------------------------- plans of the real planner */

#define MOST 4

/* A request to the planner on a machine, and the data that root has. */
struct situation {
	const struct machine *m;
	struct blocks blocks; /* each node, with the bytes that the planner counts */
	bool equal; /* all nodes have the same size */
	struct request r;
	struct plan_input in;
	struct job_plan *p;
	struct errbuf err;
};

enum change {
	CORE_MORE, /* one core more, which is outside of the job's */
	CORE_LARGER,
	CONFINED,
	MEMS_OUTSIDE,
	MEMS_MORE, /* one node more than requested */
	MEMS_SWAPPED, /* in a resize: another node in place of one that the container has */
	CHANGES
};

static const char *const change_name[] = {
	"a core outside of the job",	    "a core larger than the job",   "confined inverted",
	"a memory node outside of the job", "more memory nodes than asked", "another memory node",
};
static unsigned tried[2][CHANGES]; /* for launch and for resize */

static struct idset some_of(const struct idset *all, unsigned keep_percent)
{
	struct idset s;

	idset_zero(&s);
	for (int id = idset_next(all, -1); id >= 0; id = idset_next(all, id))
		if (rnd(100) < keep_percent)
			idset_add(&s, (unsigned)id);
	return idset_empty(&s) ? *all : s;
}

/*
 * Write the sysfs files of the machine's memory nodes below the scratch directory, and read the
 * blocks.
 */
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

/* Plan a random request. Returns false if the planner refuses it; *S then has no plan. */
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
	if (rnd(3) == 0)
		s->in.apart = (struct apart){ 1 + rnd(1u << MOST), some_of(&s->in.cores, 10) };
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

/* Resize one container of *S: S->in, r and p become those of the resize. */
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

/* Return an offered node outside of HAVE, or -1. */
static int node_outside(const struct situation *s, const struct idset *have)
{
	struct idset left = s->in.mems;

	idset_andnot(&left, have);
	return idset_next(&left, -1);
}

/*
 * Change container I of the plan. Returns false if nothing can be changed, or root cannot detect
 * the change.
 */
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
		/* the container may already satisfy a request by size */
		if (s->in.resize && ask->mems_kind == MEMS_SIZE && !s->in.has_confined &&
		    idset_equal(&c->mems, &s->in.has_mems))
			return false;
		c->confined = !c->confined;
		return true;
	case MEMS_OUTSIDE:
		idset_add(&c->mems, OUTSIDE);
		return true;
	case MEMS_MORE:
		node = node_outside(s, &c->mems);
		if (node < 0 || (ask->mems_kind == MEMS_UNSET && !s->in.resize) ||
		    (ask->mems_kind == MEMS_SIZE && !s->equal))
			return false;
		idset_add(&c->mems, (unsigned)node);
		return true;
	case MEMS_SWAPPED:
		idset_or(&more, &c->mems);
		node = node_outside(s, &more);
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

static int check_situation(struct situation *s)
{
	return job_plan_check(s->p, &s->r, &s->in, &s->blocks, scratch, &s->err);
}

/* Return NULL, or a description of the plan or change of S that the check misjudges. */
static const char *find_misjudged(struct situation *s)
{
	struct planned_container *kept = calloc(s->p->n, sizeof(*kept));
	unsigned n_cores = s->p->n_cores;
	struct idset core = s->p->core[n_cores - 1];
	const char *bad = NULL;

	memcpy(kept, s->p->container, s->p->n * sizeof(*kept));
	if (check_situation(s) < 0)
		bad = s->err.text;
	for (unsigned i = 0; i < s->p->n && !bad; i++)
		for (int what = 0; what < CHANGES && !bad; what++) {
			if (change_plan(s, i, (enum change)what)) {
				tried[s->in.resize][what]++;
				if (check_situation(s) == 0)
					bad = change_name[what];
			}
			memcpy(s->p->container, kept, s->p->n * sizeof(*kept));
			s->p->n_cores = n_cores;
			s->p->core[n_cores - 1] = core;
		}
	free(kept);
	return bad;
}

static void print_situation(const struct situation *s)
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
			bad = find_misjudged(&s);
			if (bad)
				print_situation(&s);
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
	test_resize_by_kind();
	test_changed_plans();
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
			ok(tried[0][i], "launch: the change \"%s\" was tried in %u plans",
			   change_name[i], tried[0][i]);
		ok(tried[1][i], "resize: the change \"%s\" was tried in %u plans", change_name[i],
		   tried[1][i]);
	}
	return tap_done();
}
