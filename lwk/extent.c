/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/extent.h"

#define WORD 64UL

static bool bit_get(const uint64_t *map, uint64_t page)
{
	return map[page / WORD] >> page % WORD & 1;
}

/* Set or clear COUNT bits from FIRST on; returns how many changed. */
static uint64_t bits_put(uint64_t *map, uint64_t first, uint64_t count, bool value)
{
	uint64_t changed = 0;

	while (count) {
		uint64_t in_word = WORD - first % WORD, n = count < in_word ? count : in_word;
		uint64_t mask = (n == WORD ? ~0UL : (1UL << n) - 1) << first % WORD;
		uint64_t *word = &map[first / WORD], old = *word;

		*word = value ? old | mask : old & ~mask;
		changed += (uint64_t)__builtin_popcountl(old ^ *word);
		first += n;
		count -= n;
	}
	return changed;
}

/* Return the page after the last used page in [FIRST, END), or FIRST if none is used. */
static uint64_t after_last_used(const struct extent *e, uint64_t first, uint64_t end)
{
	while (end > first) {
		uint64_t last = end - 1, low = last / WORD * WORD;
		uint64_t word = e->used[last / WORD] << (WORD - 1 - last % WORD);

		if (word) {
			uint64_t page = last - (uint64_t)__builtin_clzl(word);

			return page < first ? first : page + 1;
		}
		end = low;
	}
	return first;
}

static uint64_t page_of(const struct extent *e, uint64_t address)
{
	return (address - e->base) / EXTENT_PAGE;
}

size_t extent_map_size(uint64_t bytes)
{
	return 2 * ((bytes / EXTENT_PAGE + WORD - 1) / WORD) * sizeof(uint64_t);
}

void extent_init(struct extent *e, uint64_t base, uint64_t bytes, void *map)
{
	uint64_t pages = bytes / EXTENT_PAGE;

	*e = (struct extent){ .base = base, .pages = pages, .free = pages, .top = pages };
	e->used = map;
	e->dirty = e->used + (pages + WORD - 1) / WORD;
}

uint64_t extent_take(struct extent *e, uint64_t bytes, uint64_t align)
{
	uint64_t n = bytes / EXTENT_PAGE, step = align / EXTENT_PAGE, end = e->top;

	if (!n || n > e->free)
		return 0;
	while (end >= n) {
		uint64_t first = (end - n) / step * step;
		uint64_t after = after_last_used(e, first, first + n);

		if (after == first) {
			extent_take_over(e, e->base + first * EXTENT_PAGE, bytes);
			return e->base + first * EXTENT_PAGE;
		}
		end = after - 1;
	}
	return 0;
}

bool extent_take_at(struct extent *e, uint64_t address, uint64_t bytes)
{
	uint64_t first = page_of(e, address);

	if (!extent_holds(e, address, bytes) ||
	    after_last_used(e, first, first + bytes / EXTENT_PAGE) != first)
		return false;
	extent_take_over(e, address, bytes);
	return true;
}

void extent_take_over(struct extent *e, uint64_t address, uint64_t bytes)
{
	uint64_t first = page_of(e, address), n = bytes / EXTENT_PAGE;

	e->free -= bits_put(e->used, first, n, true);
	while (e->top && bit_get(e->used, e->top - 1))
		e->top--;
}

void extent_give(struct extent *e, uint64_t address, uint64_t bytes)
{
	uint64_t first = page_of(e, address), n = bytes / EXTENT_PAGE;

	e->free += bits_put(e->used, first, n, false);
	if (e->top < first + n)
		e->top = first + n;
}

bool extent_holds(const struct extent *e, uint64_t address, uint64_t bytes)
{
	uint64_t size = e->pages * EXTENT_PAGE;

	return address >= e->base && bytes <= size && address - e->base <= size - bytes;
}

bool extent_meets(const struct extent *e, uint64_t address, uint64_t bytes)
{
	uint64_t size = e->pages * EXTENT_PAGE;

	return address < e->base ? e->base - address < bytes : address - e->base < size;
}

bool extent_is_used(const struct extent *e, uint64_t address, uint64_t bytes)
{
	uint64_t first = page_of(e, address), end = first + bytes / EXTENT_PAGE;

	for (uint64_t page = first; page < end; page++)
		if (!bit_get(e->used, page))
			return false;
	return true;
}

uint64_t extent_next_used(const struct extent *e, uint64_t *address)
{
	uint64_t first = page_of(e, *address), end;

	while (first < e->pages && !bit_get(e->used, first))
		first += e->used[first / WORD] ? 1 : WORD - first % WORD;
	if (first >= e->pages)
		return 0;
	for (end = first; end < e->pages && bit_get(e->used, end);)
		end++;
	*address = e->base + first * EXTENT_PAGE;
	return (end - first) * EXTENT_PAGE;
}

bool extent_was_dirty(const struct extent *e, uint64_t address)
{
	return bit_get(e->dirty, page_of(e, address));
}

void extent_set_dirty(struct extent *e, uint64_t address, uint64_t bytes)
{
	bits_put(e->dirty, page_of(e, address), bytes / EXTENT_PAGE, true);
}
