/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks properties that every plan must have, with random requests on the machines of machines.txt
 * and on the recorded machines (XML) in the folder NODEOS_TOPOLOGIES.
 *
 * usage: property_test [MACHINES.TXT [SEED [ASKS-PER-MACHINE]]]
 */
#define _POSIX_C_SOURCE 200809L /* getline */
#include <dirent.h>
#include <stdlib.h>

#include "base/test/rnd.h"
#include "base/test/tap.h"
#include "topology/machine.h"

#define MOST 5
#define WHY_LINES 12

struct situation {
	const struct machine *m;
	struct plan_opts opts;
	struct plan_ask ask[MOST];
	unsigned n;
	struct plan_core *core; /* cores that have CPUs of opts.cpus */
	unsigned n_cores;
};

static struct idset some_of(const struct idset *all, unsigned keep_percent)
{
	struct idset s;

	idset_zero(&s);
	for (int id = idset_next(all, -1); id >= 0; id = idset_next(all, id))
		if (rnd(100) < keep_percent)
			idset_add(&s, (unsigned)id);
	return s;
}

static void invent_situation(struct situation *s)
{
	static const char *const name[MOST] = { "a", "b", "c", "d", "e" };
	struct idset ordinary;
	unsigned left;

	s->opts.cpus = some_of(machine_cpus(s->m), rnd(2) ? 100 : 85);
	s->opts.mems = some_of(machine_mems(s->m), rnd(2) ? 100 : 75);
	if (idset_empty(&s->opts.cpus))
		s->opts.cpus = *machine_cpus(s->m);
	if (idset_empty(&s->opts.mems))
		s->opts.mems = *machine_mems(s->m);
	ordinary = s->opts.mems;
	idset_and(&ordinary, machine_ordinary(s->m));
	s->opts.mems_taken = some_of(&s->opts.mems, rnd(3) ? 0 : 40);
	s->opts.default_mems = (enum mems_default)rnd(3);
	s->n = 1 + rnd(MOST);
	left = idset_count(&s->opts.cpus);
	for (unsigned i = 0; i < s->n; i++) {
		struct plan_ask *ask = &s->ask[i];

		*ask = (struct plan_ask){ .name = name[i], .cpus = 1 + rnd(left / (1 + rnd(3))) };
		ask->smt = rnd(3) ? 0 : 1 + rnd(2);
		ask->placement = (enum placement_word)rnd(PLACEMENT_COUNT);
		ask->mems_kind = rnd(2) ? MEMS_UNSET : MEMS_COUNT;
		ask->mems = ask->mems_kind == MEMS_COUNT ? 1 + rnd(idset_count(&ordinary)) : 0;
		left = left > ask->cpus ? left - ask->cpus : 1;
	}
	if (rnd(8) == 0)
		s->ask[rnd(s->n)].cpus = 0;
}

static unsigned width(const struct plan_ask *ask, const struct idset *core)
{
	unsigned n = idset_count(core);

	return ask->smt && ask->smt < n ? ask->smt : n;
}

/* Return whether ASK would use the same number of threads of every offered core. */
static bool are_alike(const struct situation *s, const struct plan_ask *ask)
{
	for (unsigned k = 0; k < s->n_cores; k++)
		if (width(ask, &s->core[k].cpus) != width(ask, &s->core[0].cpus))
			return false;
	return true;
}

static bool lines_are_few(const char *why)
{
	unsigned lines = 1;

	for (; *why; why++)
		lines += *why == '\n';
	return lines <= WHY_LINES;
}

/* Return what is wrong with container I of P, or NULL. */
static const char *wrong(const struct situation *s, const struct plan *p, unsigned i)
{
	const struct plan_container *c = &p->container[i];
	const struct plan_ask *ask = &s->ask[i];
	unsigned widest = 0, narrowest = IDSET_MAX, half = 0;

	if (idset_empty(&c->cpus) || idset_empty(&c->mems))
		return "the container has no CPU or no memory node";
	if (!idset_subset(&c->cpus, &c->reserved) || !idset_subset(&c->reserved, &s->opts.cpus) ||
	    !idset_subset(&c->mems, &s->opts.mems))
		return "the container has a CPU or memory node that is not offered";
	if (c->mems_confined && !idset_subset(&c->mems, machine_ordinary(s->m)))
		return "the container has a special memory node without a request";
	if (c->cpus_given != idset_count(&c->cpus) || c->cpus_asked != ask->cpus)
		return "the number of given or requested CPUs is wrong";
	for (unsigned k = 0; k < s->n_cores; k++) {
		const struct idset *core = &s->core[k].cpus;
		struct idset used = c->cpus;
		unsigned w = width(ask, core);

		if (!idset_intersects(core, &c->reserved))
			continue;
		if (!idset_subset(core, &c->reserved))
			return "only part of a core is reserved";
		idset_and(&used, core);
		if (idset_count(&used) != w)
			return "the used threads of a core are not those requested";
		widest = w > widest ? w : widest;
		narrowest = w < narrowest ? w : narrowest;
	}
	/*
	 * only some threads of a half core are offered; machine_cores() marks such cores as not
	 * whole
	 */
	for (unsigned k = 0; k < s->n_cores; k++)
		half += !s->core[k].whole && idset_intersects(&s->core[k].cpus, &c->reserved);
	if (ask->cpus && c->cpus_given < ask->cpus)
		return "fewer CPUs than requested";
	/* if a container is spread over cores of different widths, each domain may round up */
	if (ask->cpus && c->cpus_given >= ask->cpus + narrowest &&
	    (ask->placement == PLACEMENT_PACK || are_alike(s, ask)))
		return "more cores than needed";
	if (s->n == 1 && half && ask->cpus && ask->placement == PLACEMENT_PACK) {
		unsigned whole = 0;

		for (unsigned k = 0; k < s->n_cores; k++)
			whole += s->core[k].whole ? width(ask, &s->core[k].cpus) : 0;
		if (whole >= ask->cpus)
			return "the container has a half core though whole cores suffice";
	}
	if (ask->mems_kind == MEMS_COUNT &&
	    (idset_count(&c->mems) != ask->mems || !c->mems_confined))
		return "the container does not have the requested number of memory nodes";
	if (ask->mems_kind == MEMS_UNSET && s->opts.default_mems == MEMS_ALL &&
	    (!idset_equal(&c->mems, &s->opts.mems) || c->mems_confined))
		return "the container is confined without a request";
	if (!idset_subset(&c->mems, machine_ordinary(s->m)) &&
	    s->opts.default_mems == MEMS_ORDINARY)
		return "the container is bound to special memory";
	if (ask->mems_kind == MEMS_COUNT && s->n == 1 && c->mems_shared) {
		struct idset untaken = s->opts.mems;

		idset_and(&untaken, machine_ordinary(s->m));
		idset_andnot(&untaken, &s->opts.mems_taken);
		if (idset_count(&untaken) >= ask->mems)
			return "the container shares memory though enough is unused";
	}
	if (!c->why || !*c->why || !lines_are_few(c->why))
		return "the explanation is empty or too long";
	return NULL;
}

static const char *wrong_together(const struct situation *s, const struct plan *p)
{
	struct idset cpus = s->opts.cpus, mems = s->opts.mems;

	idset_andnot(&mems, &s->opts.mems_taken);
	for (unsigned i = 0; i < p->n; i++) {
		for (unsigned j = 0; j < i; j++)
			if (idset_intersects(&p->container[i].reserved, &p->container[j].reserved))
				return "containers overlap";
		idset_andnot(&cpus, &p->container[i].reserved);
		if (p->container[i].mems_confined)
			idset_andnot(&mems, &p->container[i].mems);
	}
	if (!idset_equal(&cpus, &p->free_cpus) || !idset_equal(&mems, &p->free_mems))
		return "the free sets are wrong";
	return NULL;
}

/*
 * Check that a container gets local memory if there is enough. A second plan finds the local memory
 * of its cores: a plan for one container with these cores and MEMS_LOCAL.
 */
static const char *wrong_memory(const struct situation *s, const struct plan *p)
{
	const struct plan_container *c = &p->container[0];
	struct plan_opts alone = { .cpus = c->reserved,
				   .mems = s->opts.mems,
				   .default_mems = MEMS_LOCAL };
	struct plan_ask all = { .name = "all" };
	struct plan *local;
	struct errbuf err;
	struct idset untaken;
	const char *problem = NULL;

	if (p->n != 1 || s->ask[0].mems_kind != MEMS_COUNT)
		return NULL;
	if (plan_make(&local, s->m, &alone, &all, 1, &err) < 0)
		return "there is no plan for the container's own cores";
	untaken = local->container[0].mems;
	idset_andnot(&untaken, &s->opts.mems_taken);
	if (idset_count(&untaken) >= s->ask[0].mems && !idset_subset(&c->mems, &untaken))
		problem = "the container has remote memory though local memory suffices";
	plan_free(local);
	return problem;
}

/*
 * Check that a container that is spread over memory nodes has the same number of threads in each
 * part of the machine, to within one core, except in parts that have no more. Skips machines with
 * unlike cores, or with parts that have no memory.
 */
static const char *wrong_spread(const struct situation *s, const struct plan *p)
{
	const struct plan_container *c = &p->container[0];
	struct machine_part *part;
	unsigned n, most = 0, least = IDSET_MAX;
	bool applies = are_alike(s, &s->ask[0]);

	if (p->n != 1 || s->ask[0].placement != PLACEMENT_SPREAD_NUMA || !s->ask[0].cpus)
		return NULL;
	if (machine_parts(s->m, &part, &n, NULL) < 0)
		return "machine_parts() fails";
	for (unsigned i = 0; i < n; i++) {
		struct idset given = c->cpus, left = s->opts.cpus;

		applies &= !idset_empty(&part[i].mems);
		idset_and(&given, &part[i].cpus);
		idset_andnot(&left, &c->reserved);
		most = idset_count(&given) > most ? idset_count(&given) : most;
		if (idset_intersects(&left, &part[i].cpus) && idset_count(&given) < least)
			least = idset_count(&given);
	}
	free(part);
	return applies && most > least && most - least > width(&s->ask[0], &s->core[0].cpus)
		       ? "spread unevenly"
		       : NULL;
}

static bool same(const struct plan *a, const struct plan *b)
{
	for (unsigned i = 0; i < a->n; i++)
		if (!idset_equal(&a->container[i].cpus, &b->container[i].cpus) ||
		    !idset_equal(&a->container[i].mems, &b->container[i].mems) ||
		    strcmp(a->container[i].why, b->container[i].why) != 0)
			return false;
	return true;
}

/* Check that the number that a refusal offers can be planned, and that a larger one cannot. */
static const char *wrong_offer(const struct situation *s, const struct errbuf *err)
{
	const char *offer = strstr(err->text, "fits now is cpus=");
	struct plan_ask ask = s->ask[0];
	struct plan *p;

	if (s->n != 1 || !offer)
		return NULL;
	ask.cpus = (unsigned)strtoul(strchr(offer, '=') + 1, NULL, 10);
	if (plan_make(&p, s->m, &s->opts, &ask, 1, NULL) < 0)
		return "the offered request does not fit";
	plan_free(p);
	ask.cpus++;
	if (plan_make(&p, s->m, &s->opts, &ask, 1, NULL) < 0)
		return NULL;
	plan_free(p);
	return "a larger request than the offered one fits";
}

/*
 * Return why a refusal is wrong, or NULL. If all cores have the same width, a refusal for lack of
 * CPUs is right only if there are too few cores. A refusal for lack of ordinary memory is right
 * only if there is none, since no request is larger than the machine.
 */
static const char *wrong_refusal(const struct situation *s, const struct errbuf *err)
{
	unsigned each = idset_count(&s->core[0].cpus), need = 0;

	if (strstr(err->text, "no ordinary memory node"))
		return idset_intersects(&s->opts.mems, machine_ordinary(s->m))
			       ? "refused for lack of ordinary memory though there is some"
			       : NULL;

	for (unsigned k = 0; k < s->n_cores; k++)
		if (idset_count(&s->core[k].cpus) != each)
			return NULL;
	for (unsigned i = 0; i < s->n; i++) {
		unsigned w = width(&s->ask[i], &s->core[0].cpus);

		need += s->ask[i].cpus ? (s->ask[i].cpus + w - 1) / w : 1;
	}
	if (need <= s->n_cores || !strstr(err->text, "container "))
		return "refused for lack of CPUs though there are enough cores";
	return NULL;
}

static const char *one(struct situation *s, unsigned *made)
{
	struct plan *p, *again;
	struct errbuf err, err2;
	const char *problem;

	if (plan_make(&p, s->m, &s->opts, s->ask, s->n, &err) < 0) {
		if (plan_make(&again, s->m, &s->opts, s->ask, s->n, &err2) == 0)
			return "only one of two runs is refused";
		problem = wrong_refusal(s, &err);
		if (!problem)
			problem = wrong_offer(s, &err);
		return strcmp(err.text, err2.text) ? "two refusals differ" : problem;
	}
	(*made)++;
	problem = wrong_together(s, p);
	for (unsigned i = 0; !problem && i < p->n; i++)
		problem = wrong(s, p, i);
	if (!problem)
		problem = wrong_memory(s, p);
	if (!problem)
		problem = wrong_spread(s, p);
	if (!problem && plan_make(&again, s->m, &s->opts, s->ask, s->n, &err) == 0) {
		problem = same(p, again) ? NULL : "two runs give different plans";
		plan_free(again);
	}
	plan_free(p);
	return problem;
}

static void show(const struct situation *s)
{
	char cpus[IDSET_LIST_MAX], mems[IDSET_LIST_MAX];

	idset_format(&s->opts.cpus, cpus, sizeof(cpus));
	idset_format(&s->opts.mems, mems, sizeof(mems));
	diag("cpus %s mems %s", cpus, mems);
	for (unsigned i = 0; i < s->n; i++)
		diag("ask %s cpus %u smt %u mems %d %llu", s->ask[i].name, s->ask[i].cpus,
		     s->ask[i].smt, s->ask[i].mems_kind, (unsigned long long)s->ask[i].mems);
}

static void test_machine(const char *arg, unsigned rounds)
{
	struct situation s = { 0 };
	struct machine *m;
	struct errbuf err;
	const char *problem = NULL;
	unsigned made = 0;

	if (machine_load_arg(&m, arg, &err) < 0) {
		ok(false, "machine_load_arg: loads %s: %s", arg, err.text);
		return;
	}
	s.m = m;
	for (unsigned r = 0; !problem && r < rounds; r++) {
		invent_situation(&s);
		if (machine_cores(m, &s.opts.cpus, &s.core, &s.n_cores, &err) < 0)
			bail("%s", err.text);
		problem = one(&s, &made);
		free(s.core);
	}
	if (!ok(!problem, "plan_make: %s: %u of %u requests planned", arg, made, rounds)) {
		diag("%s", problem);
		show(&s);
	}
	machine_free(m);
}

static void listed_machines(const char *path, unsigned rounds)
{
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t size = 0;

	if (!f)
		bail("cannot open %s", path);
	while (getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (*line && *line != '#')
			test_machine(line, rounds);
	}
	free(line);
	fclose(f);
}

static int is_xml(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return len > 4 && strcmp(e->d_name + len - 4, ".xml") == 0;
}

static void recorded_machines(unsigned rounds)
{
	const char *folder = getenv("NODEOS_TOPOLOGIES");
	struct dirent **entry = NULL;
	int n = folder ? scandir(folder, &entry, is_xml, alphasort) : -1;

	if (n <= 0) {
		skip(1, "no recorded machines: NODEOS_TOPOLOGIES is %s",
		     folder ? folder : "not set");
		return;
	}
	for (int i = 0; i < n; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", folder, entry[i]->d_name);
		test_machine(path, rounds);
		free(entry[i]);
	}
	free(entry);
}

int main(int argc, char **argv)
{
	const char *source = getenv("NODEOS_SOURCE");
	char listed[4096];
	const char *machines = argc > 1 ? argv[1] : listed;
	const char *seed = argc > 2 ? argv[2] : "1";
	unsigned rounds = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 60;

	snprintf(listed, sizeof(listed), "%s/topology/test/machines.txt", source ? source : ".");
	diag("seed %s", seed);
	rnd_state = strtoull(seed, NULL, 10) * UINT64_C(0x9e3779b97f4a7c15) + 1;
	listed_machines(machines, rounds);
	recorded_machines(rounds);
	return tap_done();
}
