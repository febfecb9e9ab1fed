/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lets pages_test.py call the pure functions of this room. Lines of input and output:
 *   plan RANKS PAGE PAGES NODES ROOM...     "refused", or RANK NODE PAGES of each piece
 *   raise TOTAL FREE SURPLUS ALL PAGES      the value, or "no"
 *   lower TOTAL FREE SURPLUS ALL PAGES      the same
 *   settle CHANGE BEFORE PAGES NOW          the pages
 *   runs STEP N FRAME...                    RUNS LONGEST SHORTEST
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hugepages/page_runs.h"
#include "hugepages/pages_plan.h"
#include "hugepages/pool_journal.h"

static uint64_t next(void)
{
	uint64_t n;

	if (scanf("%" SCNu64, &n) != 1)
		abort();
	return n;
}

static void plan(void)
{
	struct pages_ask ask = { .ranks = (unsigned)next() };
	struct pages_node node[64];
	struct pages_piece piece[4096];
	struct errbuf err;
	unsigned n;
	int pieces;

	ask.page = next();
	ask.pages = next();
	n = (unsigned)next();
	for (unsigned i = 0; i < n; i++)
		node[i] = (struct pages_node){ i, next() };
	pieces = pages_plan(piece, node, n, &ask, &err);
	if (pieces < 0)
		printf("refused");
	for (int i = 0; i < pieces; i++)
		printf("%u %u %" PRIu64 " ", piece[i].rank, piece[i].node, piece[i].pages);
}

static void change(bool (*fn)(uint64_t *, const struct pool_state *, uint64_t))
{
	struct pool_state s;
	uint64_t value, pages;

	s.total = next();
	s.free = next();
	s.surplus = next();
	s.all_surplus = next();
	pages = next();
	if (fn(&value, &s, pages))
		printf("%" PRIu64, value);
	else
		printf("no");
}

static void settle(void)
{
	struct pool_part p = { .change = (enum pool_change)next() };

	p.before = next();
	p.pages = next();
	pool_part_settle(&p, next());
	printf("%" PRIu64, p.pages);
}

static void runs(void)
{
	static uint64_t frame[4096];
	uint64_t step = next(), n = next();
	struct page_runs r;

	for (uint64_t i = 0; i < n; i++)
		frame[i] = next();
	page_runs_count(&r, frame, n, step);
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64, r.runs, r.longest, r.shortest);
}

int main(void)
{
	char word[16];

	while (scanf("%15s", word) == 1) {
		if (strcmp(word, "plan") == 0)
			plan();
		else if (strcmp(word, "raise") == 0)
			change(pool_raise_value);
		else if (strcmp(word, "lower") == 0)
			change(pool_lower_value);
		else if (strcmp(word, "settle") == 0)
			settle();
		else if (strcmp(word, "runs") == 0)
			runs();
		putchar('\n');
		fflush(stdout);
	}
	return 0;
}
