/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exchanges of cores: results worked out by hand, and invariants of random exchanges. */
#include "migration/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/test/rnd.h"
#include "base/test/tap.h"

#define CORES 24

static struct job_plan *plan;

/* A plan of CORES cores of two threads each, core c with CPUs c and c + CORES. */
static void make_plan(void)
{
	plan = job_plan_new();
	for (unsigned i = 0; i < CORES; i++) {
		struct idset core;

		idset_zero(&core);
		idset_add(&core, i);
		idset_add(&core, i + CORES);
		if (!plan || job_plan_add_core(plan, &core) < 0)
			abort();
	}
}

static struct planned_container *add_container(const char *name, unsigned first, unsigned n,
					       bool whole)
{
	struct planned_container *c = job_plan_add(plan, name);

	for (unsigned k = first; k < first + n; k++) {
		idset_add(&c->cpus, k);
		if (whole)
			idset_add(&c->cpus, k + CORES);
		idset_or(&c->reserved, &plan->core[k]);
	}
	return c;
}

static void threads(void)
{
	struct planned_container *c;

	make_plan();
	add_container("whole", 0, 2, true);
	add_container("one", 2, 2, false);
	c = add_container("odd", 4, 2, false);
	idset_add(&c->cpus, 4 + CORES);
	c = add_container("more", 6, 2, true);
	idset_add(&c->reserved, 8);
	is_int(exchange_threads(plan, 0), 2, "exchange_threads: counts both threads of each core");
	is_int(exchange_threads(plan, 1), 1, "exchange_threads: counts one thread of each core");
	is_int(exchange_threads(plan, 2), 0,
	       "exchange_threads: returns 0 for two threads of one core and one of another");
	is_int(exchange_threads(plan, 3), 0,
	       "exchange_threads: returns 0 if a CPU of another core is reserved");
	job_plan_free(plan);
}

/*
 * The ranks of random containers go to random cores of these containers. Returns whether the
 * invariants hold.
 */
static bool holds(void)
{
	unsigned width[3], container[CORES], n = 0, at = 0, order[CORES];
	struct idset next[CORES], cpus[3], reserved[3], sum;
	bool whole = rnd(2), good = true;
	struct exchange x;

	make_plan();
	for (unsigned i = 0; i < 3; i++) {
		width[i] = 1 + rnd(7);
		add_container(i == 0 ? "a" : i == 1 ? "b" : "c", at, width[i], whole);
		at += width[i];
	}
	for (unsigned k = 0; k < at; k++)
		order[k] = k;
	for (unsigned k = at; k-- > 1;) {
		unsigned other = rnd(k + 1), kept = order[k];

		order[k] = order[other];
		order[other] = kept;
	}
	for (unsigned i = 0, used = 0; i < 3; i++)
		for (unsigned k = rnd(width[i] + 1); k > 0; k--) {
			idset_zero(&next[n]);
			idset_add(&next[n], order[used++]);
			container[n++] = i;
		}
	x = (struct exchange){
		.plan = plan, .group = 7, .n = n, .container = container, .next = next
	};
	good = exchange_cores(cpus, reserved, &x) == 0;
	idset_zero(&sum);
	for (unsigned i = 0; good && i < 3; i++) {
		good = idset_count(&cpus[i]) == width[i] * (whole ? 2u : 1u) &&
		       idset_count(&reserved[i]) == width[i] * 2u &&
		       idset_subset(&cpus[i], &reserved[i]) &&
		       !idset_intersects(&sum, &reserved[i]);
		idset_or(&sum, &reserved[i]);
	}
	for (unsigned k = 0; good && k < n; k++)
		good = idset_subset(&next[k], &cpus[container[k]]);
	job_plan_free(plan);
	return good && idset_count(&sum) == at * 2;
}

static void random_ones(void)
{
	unsigned bad = 0;

	for (unsigned i = 0; i < 5000; i++)
		bad += !holds();
	is_int(bad, 0,
	       "exchange_cores: in 5,000 random exchanges each container keeps its number of "
	       "cores, and has the cores of its ranks and none of another container");
}

static void two_on_a_core(void)
{
	struct idset next[2], cpus[2], reserved[2];
	const unsigned container[2] = { 0, 1 };
	struct exchange x;

	make_plan();
	add_container("a", 0, 2, true);
	add_container("b", 2, 2, true);
	for (unsigned i = 0; i < 2; i++) {
		idset_zero(&next[i]);
		idset_add(&next[i], i * CORES);
	}
	x = (struct exchange){
		.plan = plan, .group = 3, .n = 2, .container = container, .next = next
	};
	is_int(exchange_cores(cpus, reserved, &x), -1,
	       "exchange_cores: a core with ranks of two containers is refused");
	job_plan_free(plan);
}

int main(void)
{
	threads();
	two_on_a_core();
	random_ones();
	return tap_done();
}
