/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contention/observed.h"

#include "base/test/fixture.h"
#include "base/test/tap.h"

static struct observed_rank *add_rank(struct observed_step *s, const char *container,
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

static void test_arrays(void)
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
	   "observed_remove_step: the other steps keep their order");
	s = &node.step[3];
	observed_remove_rank(s, 99);
	observed_remove_rank(s, 0);
	observed_remove_rank(s, 49); /* the rank with number 50 */
	right = s->n == 97 && s->rank[0].rank == 1 && s->rank[48].rank == 49 &&
		s->rank[49].rank == 51 && s->rank[96].rank == 98;
	ok(right, "observed_remove_rank: the other ranks keep their order");
	observed_free(&node);
	ok(!node.step && !node.n_steps, "observed_free: leaves an empty node");
	is(observed_kind_name(OBSERVED_TASK), "task", "observed_kind_name: gives \"task\"");
	is(observed_kind_name(OBSERVED_CHILD), "child", "observed_kind_name: gives \"child\"");
	is(observed_kind_name(OBSERVED_BUSY), "busy", "observed_kind_name: gives \"busy\"");
}

/* Give R one sample of RATE, in misses per 10,000 instructions. */
static void set_counts(struct observed_rank *r, uint64_t instructions, uint32_t rate)
{
	r->instructions = instructions;
	r->misses = instructions / 10000 * rate;
	r->state.rate[0] = rate * CLASSIFY_RATE_UNIT;
	r->state.present = 1;
}

static void test_sums(void)
{
	struct observed_node node = { .n_steps = 0 };
	struct observed_step *s = observed_add_step(&node);
	struct observed_sum sum;
	struct observed_rank *r;

	observed_sum(&sum, s, NULL);
	ok(sum.class == RANK_UNKNOWN && !sum.mean && !sum.cpu,
	   "observed_sum: all numbers of a step without ranks are 0");
	r = add_rank(s, "sim", RANK_DEVIL, 0);
	set_counts(r, 10000000, 100);
	r->cpu = 900;
	r->memory = 1000;
	r->sent = 7;
	r = add_rank(s, "sim", RANK_TURTLE, 0);
	set_counts(r, 30000000, 20);
	r->cpu = 50;
	r->memory = 24;
	r = add_rank(s, "vda", RANK_SEMI_DEVIL, 1);
	set_counts(r, 10000000, 40);
	r->cpu = 1000;
	r->memory = UINT64_MAX - 100;
	add_rank(s, "vda", RANK_UNKNOWN, 1)->cpu = 3;

	observed_sum(&sum, s, "sim");
	ok(sum.class == RANK_DEVIL && sum.devils == 1 && sum.turtles == 1 && !sum.semi_devils &&
		   !sum.unknown,
	   "observed_sum: counts the classes of a container's ranks, and finds the worst");
	/* (10 * 100 + 30 * 20) / 40 */
	is_int(sum.mean, 40 * CLASSIFY_RATE_UNIT,
	       "observed_sum: the mean is weighted by instructions");
	is_int((long long)sum.cpu, 950, "observed_sum: adds thousandths of a CPU");
	is_int((long long)sum.memory, 1024, "observed_sum: adds bytes");
	ok(sum.sent == OBSERVED_UNKNOWN,
	   "observed_sum: bytes are unknown if the bytes of one rank are unknown");
	is_int((long long)sum.instructions, 40000000, "observed_sum: adds instructions");
	is_int((long long)sum.misses, 100000 + 60000, "observed_sum: adds misses");

	observed_sum(&sum, s, NULL);
	ok(sum.class == RANK_DEVIL && sum.devils + sum.semi_devils + sum.turtles == 3 &&
		   sum.unknown == 1 && sum.cpu == 1953,
	   "observed_sum: counts the classes of the ranks of all containers");
	/* (10 * 100 + 30 * 20 + 10 * 40) / 50 */
	is_int(sum.mean, 40 * CLASSIFY_RATE_UNIT,
	       "observed_sum: the mean leaves out a rank of unknown class");
	ok(sum.instructions == OBSERVED_UNKNOWN && sum.memory == OBSERVED_UNKNOWN,
	   "observed_sum: counts are unknown if the counts of one rank are unknown");
	observed_sum(&sum, s, "");
	ok(!sum.devils && !sum.cpu, "observed_sum: the sum of no ranks is 0");

	s->n = 3;
	observed_sum(&sum, s, NULL);
	ok(sum.memory == OBSERVED_UNKNOWN - 1,
	   "observed_sum: a sum that overflows becomes the largest known number");
	observed_free(&node);
}

/* Read rank R at time COUNTED, with MORE misses than before. */
static void read_at(struct observed_rank *r, double counted, uint64_t more)
{
	r->counted = counted;
	r->misses += more;
}

static void test_domains(void)
{
	struct observed_node node = { .n_domains = 2 };
	struct observed_step *s;

	node.domain = calloc(2, sizeof(*node.domain));
	s = observed_add_step(&node);
	set_counts(add_rank(s, "", RANK_DEVIL, 0), 10000000, 100); /* 100,000 misses */
	set_counts(add_rank(s, "", RANK_SEMI_DEVIL, 0), 10000000, 40);
	add_rank(s, "", RANK_UNKNOWN, 1);
	add_rank(s, "", RANK_TURTLE, OBSERVED_NO_DOMAIN)->misses = 5;
	s->rank[0].counted = s->rank[1].counted = 100;
	observed_count(&node);
	ok(node.domain[0].devils == 1 && node.domain[0].semi_devils == 1 &&
		   node.domain[1].unknown == 1 && !node.domain[1].turtles,
	   "observed_count: counts the classes of each domain, without ranks outside of domains");
	is_int((long long)node.domain[0].rate, 0,
	       "observed_count: the rate is 0 after the first reading");
	ok(node.domain[1].rate == OBSERVED_UNKNOWN && !node.domain[1].peak,
	   "observed_count: a rank without counters makes the rate unknown, and sets no peak");
	read_at(&s->rank[0], 102, 3000);
	read_at(&s->rank[1], 102, 1000);
	observed_count(&node);
	is_int((long long)node.domain[0].rate, 2000,
	       "observed_count: the rate of a domain is the sum of its ranks' misses per second");
	is_int((long long)node.domain[0].peak, 2000,
	       "observed_count: the first rate becomes the peak");
	is_int(node.domain[0].devils, 1, "observed_count: a second call counts the classes from 0");
	observed_count(&node);
	is_int((long long)node.domain[0].rate, 2000,
	       "observed_count: the rate stays until the next reading");
	read_at(&s->rank[0], 103, 0);
	observed_count(&node);
	is_int((long long)node.domain[0].rate, 500,
	       "observed_count: a rank without misses lowers the rate");
	is_int((long long)node.domain[0].peak, 2000,
	       "observed_count: the peak stays when the rate falls");
	read_at(&s->rank[1], 402, 600000); /* 300 s after its last reading, as for a quiet rank */
	observed_count(&node);
	is_int((long long)node.domain[0].rate, 2000,
	       "observed_count: a rank's rate covers the time since it was last read");
	is_int((long long)node.domain[0].peak, 2000,
	       "observed_count: a reading after 300 s sets no new peak");
	s->rank[1].counted = 403;
	s->rank[1].misses = 10;
	observed_count(&node);
	is_int((long long)node.domain[0].rate, 0,
	       "observed_count: the rate of counters that start again is 0");
	s->ended = true;
	observed_count(&node);
	ok(!node.domain[0].devils, "observed_count: leaves out ranks of a step that has ended");
	observed_free(&node);
}

static void test_reasons(void)
{
	struct observed_node n = { .bounds = classify_default };
	struct observed_rank r = { .instructions = 5, .state.class = RANK_TURTLE };
	char buf[OBSERVED_WHY_MAX];

	ok(!observed_why(buf, &n, &r), "observed_why: NULL for a known class");
	r.state = (struct rank_state){ .present = 0x15 };
	is(observed_why(buf, &n, &r), "3 of the 5 samples that a class needs",
	   "observed_why: names too few samples");
	r.state.idle = true;
	is(observed_why(buf, &n, &r), "too little use of a CPU",
	   "observed_why: says that an idle rank uses too little of a CPU");
	r.instructions = OBSERVED_UNKNOWN;
	is(observed_why(buf, &n, &r), "no counters yet",
	   "observed_why: says that a rank has no counters yet");
	strcpy(r.why, "process 7 has ended");
	is(observed_why(buf, &n, &r), "process 7 has ended",
	   "observed_why: gives the rank's own reason");
	strcpy(n.why, "switched off");
	is(observed_why(buf, &n, &r), "switched off",
	   "observed_why: gives the host's reason first");
}

int main(void)
{
	test_reasons();
	test_arrays();
	test_sums();
	test_domains();
	return tap_done();
}
