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
	is_int((long long)extent_map_size(PAGES * P), sizeof(map),
	       "extent_map_size: two bits for each page");
	is_int((long long)extent_take(&e, P, P), BASE + 511 * P,
	       "extent_take: takes the highest page first");
	is_int((long long)extent_take(&e, 3 * P, P), BASE + 508 * P,
	       "extent_take: takes the next pages below the first");
	is_int((long long)extent_take(&e, 4 * P, 64 * P), BASE + 448 * P,
	       "extent_take: an alignment of 64 pages leaves a gap");
	is_int((long long)extent_take(&e, 56 * P, P), BASE + 452 * P,
	       "extent_take: uses the gap later");
	is_int((long long)e.free, 512 - 64, "extent_take: counts the free pages");
	ok(!extent_take_at(&e, BASE + 447 * P, 2 * P), "extent_take_at: refuses used pages");
	ok(extent_take_at(&e, BASE, 2 * P), "extent_take_at: takes free pages");
	extent_give(&e, BASE + 509 * P, P);
	is_int((long long)extent_take(&e, P, P), BASE + 509 * P,
	       "extent_take: uses a page that was given back");
	is_int((long long)extent_take(&e, 447 * P, P), 0,
	       "extent_take: returns 0 if no free place is large enough");
	is_int((long long)extent_take(&e, 446 * P, P), BASE + 2 * P,
	       "extent_take: takes all pages that are left");
	is_int((long long)e.free, 0, "extent_take: counts no free page in a full extent");
	is_int((long long)extent_take(&e, P, P), 0, "extent_take: returns 0 for a full extent");
}

static void check_ranges(void)
{
	struct extent e;
	uint64_t at = BASE;

	begin(&e);
	ok(extent_holds(&e, BASE, PAGES * P), "extent_holds: an extent holds all of its bytes");
	ok(!extent_holds(&e, BASE, PAGES * P + P),
	   "extent_holds: an extent does not hold one page more");
	ok(!extent_holds(&e, BASE + P, ~0UL - P),
	   "extent_holds: an extent does not hold a size that wraps");
	ok(extent_meets(&e, BASE - P, 2 * P),
	   "extent_meets: true for a range across the start of the extent");
	ok(!extent_meets(&e, BASE - P, P), "extent_meets: false for a range before the extent");
	ok(!extent_meets(&e, BASE + PAGES * P, P),
	   "extent_meets: false for a range after the extent");
	is_int((long long)extent_next_used(&e, &at), 0,
	       "extent_next_used: returns 0 without used pages");
	extent_take_over(&e, BASE + 70 * P, 80 * P);
	is_int((long long)extent_next_used(&e, &at), 80 * P,
	       "extent_next_used: returns the bytes of a run of 80 used pages");
	is_int((long long)at, BASE + 70 * P, "extent_next_used: gives the run's address");
	ok(extent_is_used(&e, at, 80 * P) && !extent_is_used(&e, at, 81 * P),
	   "extent_is_used: true for the run, false for one page more");
	ok(!extent_was_dirty(&e, at), "extent_was_dirty: a page is clean at first");
	extent_set_dirty(&e, at, P);
	ok(extent_was_dirty(&e, at) && !extent_was_dirty(&e, at + P),
	   "extent_set_dirty: makes only the given page dirty");
}

/* The highest place for N pages at a multiple of STEP, found by trying each place. */
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
	is_int(wrong, 0, "extent_take: 20,000 random uses get the places of a plain search");
	for (unsigned i = 0; i < PAGES; i++)
		e.free -= !used[i];
	is_int((long long)e.free, 0,
	       "extent_take: counts as many free pages as the plain array has");
}

int main(void)
{
	check_places();
	check_ranges();
	check_random();
	return tap_done();
}
