/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Containers that had devils are planned on different caches. */
#include "jobplan/apart.h"

#include <stdlib.h>
#include <string.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "topology/machine.h"

#define MACHINE "pack:2 [numa] l3:1 core:4 pu:1" /* CPUs 0-3 and 4-7 */

static struct machine *load(const char *description)
{
	struct machine *m;
	struct errbuf err;

	if (machine_load_synthetic(&m, description, &err) < 0)
		bail("%s", err.text);
	return m;
}

/* Plan containers of SIZE CPUs each (0 ends the sizes) on M; the caller frees the plan. */
static struct plan *plan_sizes(const struct machine *m, const unsigned *size,
			       enum placement_word word, uint64_t devils, const char *others)
{
	static const char *const name[] = { "a", "b", "c", "d", "e", "f", "g", "h" };
	const struct apart apart = { .devils = devils, .cpus = set_of(others) };
	struct plan_opts opts = { .cpus = *machine_cpus(m), .mems = *machine_mems(m) };
	struct plan_ask ask[8];
	struct errbuf err;
	struct plan *p;
	unsigned n = 0;

	memset(ask, 0, sizeof(ask));
	for (; size[n]; n++) {
		ask[n].name = name[n];
		ask[n].cpus = size[n];
		ask[n].placement = word;
	}
	return apart_plan(&p, m, &opts, &(struct apart_asks){ ask, n, &apart }, &err) == 0 ? p
											   : NULL;
}

static void judge(const char *what, const unsigned *size, enum placement_word word, uint64_t devils,
		  const char *others, const char *want)
{
	struct machine *m = load(MACHINE);
	struct plan *p = plan_sizes(m, size, word, devils, others);
	char got[256] = "", list[64];

	for (unsigned i = 0; p && i < p->n; i++) {
		idset_format(&p->container[i].cpus, list, sizeof(list));
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? " " : "", list);
	}
	is(got, want, "apart_plan: %s", what);
	plan_free(p);
	machine_free(m);
}

static void by_hand(void)
{
	const unsigned two[] = { 2, 2, 0 }, three[] = { 2, 2, 2, 0 }, mixed[] = { 1, 2, 3, 0 };

	judge("without devils two small containers share a cache", two, PLACEMENT_UNSET, 0, "",
	      "0-1 2-3");
	judge("two containers that had devils get a cache each", two, PLACEMENT_UNSET, 3, "",
	      "0-1 4-5");
	judge("a container that had devils avoids the cache of another step's", two,
	      PLACEMENT_UNSET, 1, "0", "4-5 6-7");
	judge("a third container that had devils shares one of two caches", three, PLACEMENT_UNSET,
	      7, "", "0-1 4-5 2-3");
	judge("the largest container is planned first, the others fill the caches", mixed,
	      PLACEMENT_UNSET, 5, "", "4 5-6 0-2");
	judge("a word for the placement has precedence over devils", two, PLACEMENT_PACK, 3, "",
	      "0-1 2-3");
}

static void explained(void)
{
	const unsigned three[] = { 2, 2, 2, 0 };
	struct machine *m = load(MACHINE);
	struct plan *p = plan_sizes(m, three, PLACEMENT_UNSET, 7, "");

	ok(p && strstr(p->container[1].why, "shares no cache with another such container"),
	   "apart_plan: the explanation names the devils of earlier steps");
	ok(p && strstr(p->container[2].why, "too few cores are free on caches without another"),
	   "apart_plan: the explanation says that no cache is left");
	plan_free(p);
	machine_free(m);
}

/*
 * Random requests on four caches of four cores: each plan has the CPUs that are requested, no two
 * containers share one, and containers that had devils share no cache while each could have one.
 */
static void random_requests(void)
{
	struct machine *m = load("pack:2 [numa] l3:2 core:4 pu:1");
	unsigned wrong = 0, shared = 0, refused = 0, parted = 0;

	srand(7);
	for (unsigned turn = 0; turn < 2000; turn++) {
		unsigned size[9] = { 0 }, n = 1 + (unsigned)rand() % 8, sum = 0, few = 0;
		uint64_t devils = (uint64_t)rand() & 255;
		struct idset used;
		unsigned cache = 0;
		struct plan *p;
		bool twice = false;

		for (unsigned i = 0; i < n; i++) {
			size[i] = 1 + (unsigned)rand() % 4;
			sum += size[i];
			few += (unsigned)(devils >> i & 1);
		}
		p = plan_sizes(m, size, PLACEMENT_UNSET, devils, "");
		if (!p) {
			refused += sum <= 16;
			continue;
		}
		idset_zero(&used);
		for (unsigned i = 0; i < n; i++) {
			int first = idset_next(&p->container[i].cpus, -1);

			wrong += idset_count(&p->container[i].cpus) != size[i] ||
				 idset_intersects(&used, &p->container[i].cpus);
			idset_or(&used, &p->container[i].cpus);
			if (!(devils >> i & 1))
				continue;
			twice |= cache >> (first / 4) & 1;
			cache |= 1u << (first / 4);
		}
		shared += few <= 4 && twice;
		parted += few > 1 && few <= 4 && !twice;
		plan_free(p);
	}
	is_int(wrong, 0, "apart_plan: random requests get their CPUs, none of them twice");
	is_int(refused, 0, "apart_plan: random requests that fit are planned");
	is_int(shared, 0, "apart_plan: up to four containers that had devils share no cache");
	ok(parted > 300, "apart_plan: %u random requests have several containers that had devils",
	   parted);
	machine_free(m);
}

int main(void)
{
	by_hand();
	explained();
	random_requests();
	return tap_done();
}
