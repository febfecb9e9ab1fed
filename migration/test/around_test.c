/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ranges around misses, calculated by hand. around_oracle.py has random ones. */
#include "migration/around.h"

#include "base/test/tap.h"

#define PAGE 0x1000u

static struct around chosen;

static bool is_range(unsigned i, pid_t pid, uint64_t start, uint64_t end, unsigned misses)
{
	const struct around_range *r = &chosen.range[i];

	return i < chosen.n && r->pid == pid && r->start == start && r->end == end &&
	       r->misses == misses;
}

static void test_choice(void)
{
	struct miss close[] = {
		{ 9, 0x205010 }, { 7, 0x103fff }, { 7, 0x101000 }, { 7, 0x108000 }
	};
	struct miss ends[] = { { 7, 0x1008 }, { 7, UINT64_MAX } };

	around_choose(&chosen, close, 0, 4 * PAGE, PAGE);
	is_int(chosen.n, 0, "no misses: nothing is chosen");
	around_choose(&chosen, close, 4, 4 * PAGE, PAGE);
	/* around 101: from ff to 103; around 103: from 101 to 105; around 108: from 106 to 10a */
	ok(chosen.n == 3 && is_range(0, 7, 0xff000, 0x105000, 2) &&
		   is_range(1, 7, 0x106000, 0x10a000, 1) && is_range(2, 9, 0x203000, 0x207000, 1),
	   "ranges of four pages around each miss that overlap become one");
	around_choose(&chosen, close, 4, 5 * PAGE, PAGE);
	/* around 103: now to 106, where the range around 108 begins */
	ok(chosen.n == 2 && is_range(0, 7, 0xff000, 0x10b000, 3), "ranges that touch become one");
	around_choose(&chosen, close, 4, PAGE, PAGE);
	ok(chosen.n == 4 && is_range(1, 7, 0x103000, 0x104000, 1),
	   "one page around a miss is the page of the miss");
	around_choose(&chosen, ends, 2, 16 * PAGE, PAGE);
	ok(chosen.n == 2 && is_range(0, 7, 0, 0x9000, 1) &&
		   is_range(1, 7, UINT64_MAX - 9 * PAGE + 1, UINT64_MAX - PAGE + 1, 1),
	   "ranges do not wrap at either end of the address space");
}

static void test_next(void)
{
	struct miss miss[] = { { 7, 0x10000 }, { 7, 0x20000 }, { 9, 0x18000 } };
	uint64_t at = 0, to = 0;

	around_choose(&chosen, miss, 3, 2 * PAGE, PAGE); /* f to 11, 1f to 21 */
	ok(around_next(&chosen, 7, &at, &to, UINT64_MAX) && at == 0xf000 && to == 0x11000,
	   "around_next: finds the first range of a process");
	at = to;
	ok(around_next(&chosen, 7, &at, &to, UINT64_MAX) && at == 0x1f000 && to == 0x21000,
	   "around_next: finds the next range, and skips those of other processes");
	at = to;
	ok(!around_next(&chosen, 7, &at, &to, UINT64_MAX),
	   "around_next: finds nothing after the last range");
	at = 0x10000;
	ok(around_next(&chosen, 7, &at, &to, 0x20000) && at == 0x10000 && to == 0x11000,
	   "around_next: cuts a range at the beginning of a mapping");
	at = to;
	ok(around_next(&chosen, 7, &at, &to, 0x20000) && at == 0x1f000 && to == 0x20000,
	   "around_next: cuts a range at the end of a mapping");
	at = 0x11000;
	ok(!around_next(&chosen, 7, &at, &to, 0x1f000),
	   "around_next: finds nothing in a mapping between two ranges");
	ok(!around_next(&chosen, 8, &at, &to, UINT64_MAX),
	   "around_next: finds nothing for a process without misses");
}

static void test_most(void)
{
	static struct miss miss[AROUND_RANGES + 4];
	unsigned n = 0;

	/* a range with two misses is the last but one, and would not fit */
	for (unsigned i = 0; i < AROUND_RANGES + 1; i++)
		miss[n++] = (struct miss){ 7, 0x10000ull * (i + 1) };
	miss[n++] = (struct miss){ 7, 0x10000ull * (AROUND_RANGES + 2) };
	miss[n++] = (struct miss){ 7, 0x10000ull * (AROUND_RANGES + 2) };
	miss[n++] = (struct miss){ 8, 0x10000 };
	around_choose(&chosen, miss, n, PAGE, PAGE);
	ok(chosen.n == AROUND_RANGES &&
		   is_range(AROUND_RANGES - 1, 7, 0x10000ull * (AROUND_RANGES + 2),
			    0x10000ull * (AROUND_RANGES + 2) + PAGE, 2) &&
		   is_range(AROUND_RANGES - 2, 7, 0x10000ull * (AROUND_RANGES - 1),
			    0x10000ull * (AROUND_RANGES - 1) + PAGE, 1),
	   "of too many ranges, those with the most misses are chosen, then the first ones");
}

int main(void)
{
	test_choice();
	test_next();
	test_most();
	return tap_done();
}
