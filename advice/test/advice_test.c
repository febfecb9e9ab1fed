/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Advice on small sites; the expected values are worked out by hand. */
#include "advice/advice.h"

#include "base/test/tap.h"

#define DEVIL(n, cpus)                                            \
	{                                                         \
		RANK_DEVIL, n, cpus, 0, ADVICE_TRAFFIC_UNKNOWN, 1 \
	}
#define SEMI(n, cpus)                                                  \
	{                                                              \
		RANK_SEMI_DEVIL, n, cpus, 0, ADVICE_TRAFFIC_UNKNOWN, 1 \
	}
#define TURTLE(n, cpus)                                            \
	{                                                          \
		RANK_TURTLE, n, cpus, 0, ADVICE_TRAFFIC_UNKNOWN, 1 \
	}
#define NODE(cpus)                     \
	{                              \
		cpus, 0, true, true, 1 \
	}

#define ADVISE(nodes, containers)                                     \
	advise(nodes, sizeof(nodes) / sizeof((nodes)[0]), containers, \
	       sizeof(containers) / sizeof((containers)[0]))

static const struct advice *advise(const struct advice_node *node, unsigned n_nodes,
				   const struct advice_container *container, unsigned n)
{
	static struct advice out;
	struct advice_site site = { .node = node,
				    .n_nodes = n_nodes,
				    .container = container,
				    .n = n,
				    .weights = advice_weights_default };
	struct errbuf err = { 0 };

	if (advice_make(&out, &site, &advice_search_default, &err) < 0)
		diag("%s", err.text);
	return &out;
}

static void test_idle_first(void)
{
	const struct advice_node node[] = { NODE(8), NODE(8), NODE(8) };
	const struct advice_container c[] = { DEVIL(0, 4), DEVIL(0, 4), TURTLE(1, 4) };
	const struct advice *a = ADVISE(node, c);

	ok(a->n == 1 && a->step[0].kind == ADVICE_IDLE && a->step[0].to == 2,
	   "one of two devils goes to the idle node, not beside a turtle");
	/* before: a pair of devils (4) and three powered nodes (1 each) */
	ok(a->before == 7000 && a->after == 3000 && a->step[0].gain == 4000,
	   "separating a pair of devils gains their weight");
	ok(a->exact, "three nodes are searched in full");
}

static void test_powered_up(void)
{
	const struct advice_node node[] = { NODE(8), { 8, 0, false, true, 1 }, NODE(8) };
	const struct advice_container c[] = { DEVIL(0, 4), DEVIL(0, 4), TURTLE(2, 4) };
	const struct advice *a = ADVISE(node, c);

	ok(a->n == 1 && a->step[0].kind == ADVICE_ROOM && a->step[0].to == 2,
	   "free CPUs beside a turtle cost less than a node that is powered down");
}

static void test_swap(void)
{
	const struct advice_node node[] = { NODE(8), NODE(8) };
	const struct advice_container c[] = { DEVIL(0, 4), DEVIL(0, 4), TURTLE(1, 2), TURTLE(1, 2),
					      SEMI(1, 4) };
	const struct advice *a = ADVISE(node, c);

	ok(a->n == 1 && a->step[0].kind == ADVICE_SWAP && a->step[0].devil == 0 &&
		   a->step[0].n_turtles == 2 && a->step[0].turtle[0] == 2 &&
		   a->step[0].turtle[1] == 3,
	   "a devil changes places with two turtles of half its size; the semi-devil stays");
}

static void test_no_step(void)
{
	const struct advice_node node[] = { NODE(8), NODE(8) };
	const struct advice_container semi[] = { DEVIL(0, 4), SEMI(0, 4) };
	const struct advice_container full[] = { DEVIL(0, 4), DEVIL(0, 4), DEVIL(1, 4),
						 TURTLE(1, 4) };
	const struct advice_node closed[] = { NODE(8), { 8, 0, true, false, 1 } };
	const struct advice_node other[] = { NODE(8), { 8, 0, true, true, 2 } };
	const struct advice_container two[] = { DEVIL(0, 4), DEVIL(0, 4) };

	ok(ADVISE(node, semi)->n == 0, "a semi-devil beside a devil stays");
	/* a swap would move the pair of devils to the other node, at the same cost */
	ok(ADVISE(node, full)->n == 0,
	   "a swap that only moves the pair to the other node is not proposed");
	ok(ADVISE(closed, two)->n == 0, "no devil moves to a drained node");
	ok(ADVISE(other, two)->n == 0, "no devil moves to a node of another partition");
}

static void test_parting(void)
{
	/* both have 500 bytes for 10,000 instructions: half a pair, which costs 1 when parted */
	const struct advice_node node[] = { NODE(8), NODE(8) };
	struct advice_container c[] = { { RANK_DEVIL, 0, 4, 7, 500000, 1 },
					{ RANK_DEVIL, 0, 4, 7, 500000, 1 } };
	const struct advice *a = ADVISE(node, c);

	ok(a->n == 1 && a->step[0].gain == 3000 && a->step[0].parting == -1000,
	   "separating two devils that communicate gains less than separating others");
	c[0].job = 8;
	a = ADVISE(node, c);
	ok(a->n == 1 && a->step[0].gain == 4000,
	   "devils of different jobs count as not communicating");
	c[0] = (struct advice_container){ RANK_DEVIL, 0, 2, 9, 5000000, 1 };
	ok(advice_pair_traffic(&c[0], &c[0]) == 1000,
	   "more traffic than ADVICE_TRAFFIC_FULL counts as a whole pair");
}

static void test_sequence(void)
{
	/* node 0 is idle; node 1 has three devils; node 2 has a turtle, a semi-devil and 2 CPUs */
	const struct advice_node node[] = { NODE(4), NODE(8), NODE(8) };
	const struct advice_container c[] = { DEVIL(1, 4), DEVIL(1, 2), DEVIL(1, 2), TURTLE(2, 4),
					      SEMI(2, 2) };
	const struct advice *a = ADVISE(node, c);

	/* before: three pairs of devils; the best layout has one devil on each node */
	ok(a->before == 15000 && a->after == 3000 && a->n == 2,
	   "of three devils on one node, two move, each to a node of its own");
}

static void test_refused(void)
{
	const struct advice_node node[] = { NODE(8) };
	const struct advice_container large[] = { DEVIL(0, 4), DEVIL(0, 5) };
	const struct advice_container outside[] = { DEVIL(1, 4) };
	struct advice_site site = { 1, 2, node, large, advice_weights_default };
	static struct advice out;
	struct errbuf err = { 0 };

	ok(advice_make(&out, &site, &advice_search_default, &err) < 0 && *err.text && !out.n,
	   "a node with more CPUs in use than it has is refused");
	site = (struct advice_site){ 1, 1, node, outside, advice_weights_default };
	ok(advice_make(&out, &site, &advice_search_default, &err) < 0,
	   "a container on a node that does not exist is refused");
	site = (struct advice_site){ 0, 0, NULL, NULL, advice_weights_default };
	ok(advice_make(&out, &site, &advice_search_default, &err) == 0 && !out.n,
	   "a site without nodes gets no proposal");
}

int main(void)
{
	test_idle_first();
	test_powered_up();
	test_swap();
	test_no_step();
	test_parting();
	test_sequence();
	test_refused();
	return tap_done();
}
