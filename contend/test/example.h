/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_TEST_EXAMPLE_H
#define NODEOS_CONTEND_TEST_EXAMPLE_H

/*
 * An example of a host that the daemon observes, with two caches and two steps. Job 41 has a devil,
 * a semi-devil and a turtle in container "sim", and a child of an MPI launcher with a hostile name
 * and unknown values. Job 42, of another user, has a devil without container.
 */
#include <stdlib.h>
#include <string.h>

#include "base/test/fixture.h"
#include "contention/observed.h"

#define EXAMPLE_TIME 1795207785.5
#define EXAMPLE_HOSTILE "\033[2J\"\\\n<&\xff\xc3\xbc"

/* Give R samples that all have RATE, in thousandths. */
static inline void example_rate(struct observed_rank *r, enum rank_class class, uint32_t rate)
{
	r->state.class = class;
	r->state.has_adopted = true;
	r->state.adopted = rate;
	r->state.present = 0x3ff;
	for (unsigned i = 0; i < 10; i++)
		r->state.rate[i] = rate;
}

static inline struct observed_rank *example_rank(struct observed_step *s, int rank,
						 const char *command, const char *cpus, int domain)
{
	struct observed_rank *r = observed_add_rank(s);

	if (!r)
		abort();
	r->kind = rank < 0 ? OBSERVED_CHILD : OBSERVED_TASK;
	r->rank = rank;
	r->pid = 5300 + rank + (rank < 0 ? 100 : 0);
	r->start = 1000 + (uint64_t)r->pid;
	snprintf(r->command, sizeof(r->command), "%s", command);
	strcpy(r->container, s->contained ? "sim" : "");
	r->cpus = set_of(cpus);
	r->domain = domain;
	r->threads = 1;
	return r;
}

static inline void example_numbers(struct observed_rank *r, uint64_t cpu, uint64_t instructions,
				   uint64_t misses)
{
	r->cpu = cpu;
	r->memory = 16u << 20;
	r->sent = 1000;
	r->received = 2000;
	r->read = 4096;
	r->written = 0;
	r->instructions = instructions;
	r->misses = misses;
	r->remote = misses / 4;
	r->interrupts = 7;
	r->since = EXAMPLE_TIME - 60;
}

static inline void example_job_41(struct observed_node *n)
{
	struct observed_step *s = observed_add_step(n);
	struct observed_placing *placing;
	struct observed_rank *r;

	if (!s)
		abort();
	s->job = 41;
	s->uid = 1000;
	s->gid = 1000;
	s->inode = 4711;
	s->contained = true;
	s->started = EXAMPLE_TIME - 90;
	r = example_rank(s, 0, "scan", "0", 0);
	example_rate(r, RANK_DEVIL, 311600);
	example_numbers(r, 998, 1000000000, 31160000);
	r->state.changes = 2;
	r->scaled = true;
	r = example_rank(s, 1, "muladd", "1", 0);
	example_rate(r, RANK_SEMI_DEVIL, 32001);
	example_numbers(r, 991, 2000000000, 6400200);
	r = example_rank(s, 2, "loop", "4-5", 1);
	example_rate(r, RANK_TURTLE, 100);
	example_numbers(r, 1980, 3000000000, 30000);
	r->quiet = true;
	r->moves = 2;
	r->pages = 32u << 20;
	r->pages_of = 128u << 20;
	r->pages_sampled = true;
	r = example_rank(s, OBSERVED_NO_RANK, EXAMPLE_HOSTILE, "0-7", OBSERVED_NO_DOMAIN);
	placing = observed_get_placing(s, "sim");
	if (!placing)
		abort();
	placing->policy = CONTENTION_DINO;
	strcpy(placing->why, "ranks move");
	strcpy(placing->units, "task_0: 2 processes move as one");
	placing->moves = 2;
}

static inline void example_job_42(struct observed_node *n)
{
	struct observed_step *s = observed_add_step(n);
	struct observed_rank *r;

	if (!s)
		abort();
	s->job = 42;
	s->step = 0xfffffffbu; /* batch */
	s->het_job = 40;
	s->uid = 1001;
	s->gid = 1001;
	s->inode = 4712;
	s->started = EXAMPLE_TIME - 30;
	r = example_rank(s, 0, "triad", "5", 1);
	example_rate(r, RANK_DEVIL, 310000);
	example_numbers(r, 500, 100000000, 3100000);
}

static inline void example_domain(struct observed_domain *d, int id, const char *cpus,
				  const char *mems)
{
	d->id = id;
	d->cpus = set_of(cpus);
	d->mems = set_of(mems);
}

static inline void example_node(struct observed_node *n)
{
	memset(n, 0, sizeof(*n));
	strcpy(n->host, "n1");
	n->time = EXAMPLE_TIME;
	n->interval = 1000;
	strcpy(n->source, "perf");
	strcpy(n->row, "amdzen4");
	n->quality = EVENTS_A;
	n->has_remote = true;
	n->simulated = true;
	n->user_only = true;
	n->bounds = classify_default;
	n->n_domains = 2;
	n->domain = calloc(2, sizeof(*n->domain));
	if (!n->domain)
		abort();
	example_domain(&n->domain[0], 0, "0-3", "0");
	example_domain(&n->domain[1], 8, "4-7", "1");
	n->domain[0].semi_devils = n->domain[0].devils = 1;
	n->domain[0].rate = 12000000;
	n->domain[0].peak = 25000000;
	n->domain[0].calibrated = true;
	n->domain[1].turtles = n->domain[1].devils = 1;
	n->domain[1].rate = OBSERVED_UNKNOWN;
	n->domain[1].peak = 0;
	example_job_41(n);
	example_job_42(n);
}

#endif
