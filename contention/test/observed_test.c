/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contention/observed.h"

#include "base/test/fixture.h"
#include "base/test/tap.h"

static struct observed_rank *add(struct observed_step *s, const char *container,
				 enum rank_class class, int domain)
{
	struct observed_rank *r = observed_add_rank(s);

	if (!r)
		bail("out of memory");
	snprintf(r->container, sizeof(r->container), "%s", container);
	r->state.class = class;
	r->domain = domain;
	return r;
}

static void grow_and_shrink(void)
{
	struct observed_node node = { .n_steps = 0 };
	struct observed_step *s;
	bool right = true;

	for (unsigned i = 0; i < 9; i++) {
		s = observed_add_step(&node);
		s->job = i;
		for (int k = 0; k < 100; k++) {
			struct observed_rank *r = observed_add_rank(s);

			right &= r->rank == OBSERVED_NO_RANK && r->domain == OBSERVED_NO_DOMAIN &&
				 r->cpu == OBSERVED_UNKNOWN && r->sent == OBSERVED_UNKNOWN &&
				 r->misses == OBSERVED_UNKNOWN && !r->interrupts;
			r->rank = k;
		}
	}
	ok(right, "observed_add_rank: a new rank's numbers are unknown");
	observed_remove_step(&node, 0);
	observed_remove_step(&node, 7);
	ok(node.n_steps == 7 && node.step[0].job == 1 && node.step[6].job == 7,
	   "observed_remove_step: the others keep their order");
	s = &node.step[3];
	observed_remove_rank(s, 99);
	observed_remove_rank(s, 0);
	observed_remove_rank(s, 49); /* rank 50 */
	right = s->n == 97 && s->rank[0].rank == 1 && s->rank[48].rank == 49 &&
		s->rank[49].rank == 51 && s->rank[96].rank == 98;
	ok(right, "observed_remove_rank: the others keep their order");
	observed_free(&node);
	ok(!node.step && !node.n_steps, "observed_free: the node is empty");
	is(observed_kind_name(OBSERVED_TASK), "task", "observed_kind_name: task");
	is(observed_kind_name(OBSERVED_CHILD), "child", "observed_kind_name: child");
	is(observed_kind_name(OBSERVED_BUSY), "busy", "observed_kind_name: busy");
}

/* A rank whose ring has one sample of RATE, in misses for 10,000 instructions. */
static void counts(struct observed_rank *r, uint64_t instructions, uint32_t rate)
{
	r->instructions = instructions;
	r->misses = instructions / 10000 * rate;
	r->state.rate[0] = rate * CLASSIFY_RATE_UNIT;
	r->state.present = 1;
}

static void add_up(void)
{
	struct observed_node node = { .n_steps = 0 };
	struct observed_step *s = observed_add_step(&node);
	struct observed_sum sum;
	struct observed_rank *r;

	observed_sum(&sum, s, NULL);
	ok(sum.class == RANK_UNKNOWN && !sum.mean && !sum.cpu,
	   "observed_sum: all numbers of a step without ranks are 0");
	r = add(s, "sim", RANK_DEVIL, 0);
	counts(r, 10000000, 100);
	r->cpu = 900;
	r->memory = 1000;
	r->sent = 7;
	r = add(s, "sim", RANK_TURTLE, 0);
	counts(r, 30000000, 20);
	r->cpu = 50;
	r->memory = 24;
	r = add(s, "vda", RANK_SEMI_DEVIL, 1);
	counts(r, 10000000, 40);
	r->cpu = 1000;
	r->memory = UINT64_MAX - 100;
	add(s, "vda", RANK_UNKNOWN, 1)->cpu = 3;

	observed_sum(&sum, s, "sim");
	ok(sum.class == RANK_DEVIL && sum.devils == 1 && sum.turtles == 1 && !sum.semi_devils &&
		   !sum.unknown,
	   "observed_sum: classes of a container, the worst one first");
	/* (10 * 100 + 30 * 20) / 40 */
	is_int(sum.mean, 40 * CLASSIFY_RATE_UNIT, "observed_sum: the mean is one by instructions");
	is_int((long long)sum.cpu, 950, "observed_sum: thousandths of a CPU");
	is_int((long long)sum.memory, 1024, "observed_sum: bytes");
	ok(sum.sent == OBSERVED_UNKNOWN,
	   "observed_sum: bytes are unknown if those of one rank are");
	is_int((long long)sum.instructions, 40000000, "observed_sum: instructions");
	is_int((long long)sum.misses, 100000 + 60000, "observed_sum: misses");

	observed_sum(&sum, s, NULL);
	ok(sum.class == RANK_DEVIL && sum.devils + sum.semi_devils + sum.turtles == 3 &&
		   sum.unknown == 1 && sum.cpu == 1953,
	   "observed_sum: all containers");
	/* the same 1,600 and 10 * 40, of 50 */
	is_int(sum.mean, 40 * CLASSIFY_RATE_UNIT, "observed_sum: an unknown rank is in no mean");
	ok(sum.instructions == OBSERVED_UNKNOWN && sum.memory == OBSERVED_UNKNOWN,
	   "observed_sum: counts are unknown if those of one rank are");
	observed_sum(&sum, s, "");
	ok(!sum.devils && !sum.cpu, "observed_sum: no rank is without a container");

	s->n = 3;
	observed_sum(&sum, s, NULL);
	ok(sum.memory == OBSERVED_UNKNOWN - 1, "observed_sum: an overflowing sum stays known");
	observed_free(&node);
}

/* Read rank R at time COUNTED, with MISSES more than before. */
static void read_at(struct observed_rank *r, double counted, uint64_t more)
{
	r->counted = counted;
	r->misses += more;
}

static void follow_domains(void)
{
	struct observed_node node = { .n_domains = 2 };
	struct observed_step *s;

	node.domain = calloc(2, sizeof(*node.domain));
	s = observed_add_step(&node);
	counts(add(s, "", RANK_DEVIL, 0), 10000000, 100); /* 100,000 misses */
	counts(add(s, "", RANK_SEMI_DEVIL, 0), 10000000, 40);
	add(s, "", RANK_UNKNOWN, 1);
	add(s, "", RANK_TURTLE, OBSERVED_NO_DOMAIN)->misses = 5;
	s->rank[0].counted = s->rank[1].counted = 100;
	observed_count(&node);
	ok(node.domain[0].devils == 1 && node.domain[0].semi_devils == 1 &&
		   node.domain[1].unknown == 1 && !node.domain[1].turtles,
	   "observed_count: classes of each domain, a rank of no domain in none");
	is_int((long long)node.domain[0].rate, 0, "observed_count: no rate at first");
	ok(node.domain[1].rate == OBSERVED_UNKNOWN && !node.domain[1].peak,
	   "observed_count: the rate of a rank without counters is unknown, and no peak");
	read_at(&s->rank[0], 102, 3000);
	read_at(&s->rank[1], 102, 1000);
	observed_count(&node);
	is_int((long long)node.domain[0].rate, 2000,
	       "observed_count: misses a second of all ranks");
	is_int((long long)node.domain[0].peak, 2000,
	       "observed_count: the peak is the highest rate");
	is_int(node.domain[0].devils, 1, "observed_count: a second call does not add to the first");
	observed_count(&node);
	is_int((long long)node.domain[0].rate, 2000,
	       "observed_count: the rate stays between two readings");
	read_at(&s->rank[0], 103, 0);
	observed_count(&node);
	is_int((long long)node.domain[0].rate, 500, "observed_count: a rank without misses");
	is_int((long long)node.domain[0].peak, 2000, "observed_count: the peak stays");
	read_at(&s->rank[1], 402, 600000); /* in 300 s: a quiet rank */
	observed_count(&node);
	is_int((long long)node.domain[0].rate, 2000,
	       "observed_count: the rate of a rank is of the time since it was read");
	is_int((long long)node.domain[0].peak, 2000, "observed_count: rare readings make no peak");
	s->rank[1].counted = 403;
	s->rank[1].misses = 10;
	observed_count(&node);
	is_int((long long)node.domain[0].rate, 0,
	       "observed_count: counters that begin again have no rate");
	s->ended = true;
	observed_count(&node);
	ok(!node.domain[0].devils, "observed_count: no rank of a step that has ended");
	observed_free(&node);
}

static void reasons(void)
{
	struct observed_node n = { .bounds = classify_default };
	struct observed_rank r = { .instructions = 5, .state.class = RANK_TURTLE };
	char buf[OBSERVED_WHY_MAX];

	ok(!observed_why(buf, &n, &r), "observed_why: a class needs no reason");
	r.state = (struct rank_state){ .present = 0x15 };
	is(observed_why(buf, &n, &r), "3 of the 5 samples that a class needs",
	   "observed_why: too few samples");
	r.state.idle = true;
	is(observed_why(buf, &n, &r), "too little use of a CPU",
	   "observed_why: samples of an idle rank are not used");
	r.instructions = OBSERVED_UNKNOWN;
	is(observed_why(buf, &n, &r), "no counters yet", "observed_why: no counters");
	strcpy(r.why, "process 7 has ended");
	is(observed_why(buf, &n, &r), "process 7 has ended", "observed_why: refused counters");
	strcpy(n.why, "switched off");
	is(observed_why(buf, &n, &r), "switched off", "observed_why: nothing counts on this host");
}

int main(void)
{
	reasons();
	grow_and_shrink();
	add_up();
	follow_domains();
	return tap_done();
}
