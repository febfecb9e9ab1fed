/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The allocator of the extent: places by hand, and random use against a plain array. */
#include "lwk/extent.h"

#include "base/test/tap.h"

#define BASE 0x40000000UL
#define PAGES 512UL
#define P EXTENT_PAGE

static uint64_t map[2 * PAGES / 64];

static void begin(struct extent *e)
{
	memset(map, 0, sizeof(map));
	extent_init(e, BASE, PAGES * P, map);
}

static void check_places(void)
{
	struct extent e;

	begin(&e);
	is_int((long long)extent_map_size(PAGES * P), sizeof(map), "two bits for each page");
	is_int((long long)extent_take(&e, P, P), BASE + 511 * P, "the first page is the highest");
	is_int((long long)extent_take(&e, 3 * P, P), BASE + 508 * P, "the next pages are below");
	is_int((long long)extent_take(&e, 4 * P, 64 * P), BASE + 448 * P,
	       "an alignment of 64 pages leaves a gap");
	is_int((long long)extent_take(&e, 56 * P, P), BASE + 452 * P, "the gap is used later");
	is_int((long long)e.free, 512 - 64, "free pages are counted");
	ok(!extent_take_at(&e, BASE + 447 * P, 2 * P), "used pages are not taken at an address");
	ok(extent_take_at(&e, BASE, 2 * P), "free pages are taken at an address");
	extent_give(&e, BASE + 509 * P, P);
	is_int((long long)extent_take(&e, P, P), BASE + 509 * P,
	       "a page that was given back is used");
	is_int((long long)extent_take(&e, 447 * P, P), 0, "more than there is in one place: none");
	is_int((long long)extent_take(&e, 446 * P, P), BASE + 2 * P, "all that is left");
	is_int((long long)e.free, 0, "no page is free");
	is_int((long long)extent_take(&e, P, P), 0, "none is left");
}

static void check_ranges(void)
{
	struct extent e;
	uint64_t at = BASE;

	begin(&e);
	ok(extent_holds(&e, BASE, PAGES * P), "an extent holds itself");
	ok(!extent_holds(&e, BASE, PAGES * P + P), "an extent does not hold more than itself");
	ok(!extent_holds(&e, BASE + P, ~0UL - P), "a size that wraps is not held");
	ok(extent_meets(&e, BASE - P, 2 * P), "a range over its begin meets it");
	ok(!extent_meets(&e, BASE - P, P), "a range before its begin does not meet it");
	ok(!extent_meets(&e, BASE + PAGES * P, P), "a range behind its end does not meet it");
	is_int((long long)extent_next_used(&e, &at), 0, "no run of used pages");
	extent_take_over(&e, BASE + 70 * P, 80 * P);
	is_int((long long)extent_next_used(&e, &at), 80 * P, "a run of 80 used pages");
	is_int((long long)at, BASE + 70 * P, "the run's address");
	ok(extent_is_used(&e, at, 80 * P) && !extent_is_used(&e, at, 81 * P), "exactly these");
	ok(!extent_was_dirty(&e, at), "pages are clean before they are named");
	extent_set_dirty(&e, at, P);
	ok(extent_was_dirty(&e, at) && !extent_was_dirty(&e, at + P), "one page is dirty");
}

/* The highest place for N pages at a multiple of STEP, by looking at each. */
static long find_place(const char *used, unsigned long n, unsigned long step)
{
	for (long first = (long)(PAGES - n); first >= 0; first--) {
		unsigned long i;

		if ((unsigned long)first % step)
			continue;
		for (i = 0; i < n && !used[(unsigned long)first + i]; i++)
			;
		if (i == n)
			return first;
	}
	return -1;
}

static void check_random(void)
{
	struct extent e;
	char used[PAGES] = { 0 };
	unsigned wrong = 0, seed = 1;

	begin(&e);
	for (int i = 0; i < 20000; i++) {
		unsigned long n, step;
		long want;
		uint64_t got;

		seed = seed * 1664525 + 1013904223;
		n = 1 + (seed >> 8) % 40;
		step = 1UL << (seed >> 20) % 6;
		if (seed >> 31) {
			unsigned long at = (seed >> 3) % (PAGES - n);

			extent_give(&e, BASE + at * P, n * P);
			memset(used + at, 0, n);
			continue;
		}
		want = find_place(used, n, step);
		got = extent_take(&e, n * P, step * P);
		wrong += want < 0 ? got != 0 : got != BASE + (uint64_t)want * P;
		if (want >= 0)
			memset(used + want, 1, n);
	}
	is_int(wrong, 0, "20,000 random uses get the places of a plain search");
	for (unsigned i = 0; i < PAGES; i++)
		e.free -= !used[i];
	is_int((long long)e.free, 0, "as many pages are free as in the plain array");
}

int main(void)
{
	check_places();
	check_ranges();
	check_random();
	return tap_done();
}
