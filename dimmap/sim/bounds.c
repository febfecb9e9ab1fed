/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/sim/bounds.h"

#include <stdlib.h>
#include <string.h>

static void count_eviction(struct buffer_counts *c, bool dirty)
{
	c->evicted++;
	c->evicted_dirty += dirty;
}

/* ------------------------------------------------------------------ LRU */

struct recent {
	uint32_t older, newer; /* page numbers; entry A->pages has the ends of the list */
	bool in, dirty;
};

static void unlink_page(struct recent *r, uint32_t x)
{
	r[r[x].older].newer = r[x].newer;
	r[r[x].newer].older = r[x].older;
}

static void link_newest(struct recent *r, uint32_t ends, uint32_t x)
{
	r[x].older = r[ends].older;
	r[x].newer = ends;
	r[r[x].older].newer = x;
	r[ends].older = x;
}

int bounds_lru(const struct accesses *a, uint32_t pages, struct buffer_counts *out)
{
	uint32_t ends = a->pages, n = 0;
	struct recent *r = calloc((size_t)ends + 1, sizeof(*r));

	if (!r)
		return -1;
	*out = (struct buffer_counts){ 0 };
	r[ends].older = r[ends].newer = ends;
	for (size_t i = 0; i < a->n; i++) {
		uint32_t x = access_page(a, i), y;

		if (r[x].in) {
			unlink_page(r, x);
		} else {
			out->misses++;
			if (n == pages) {
				y = r[ends].newer;
				unlink_page(r, y);
				count_eviction(out, r[y].dirty);
				r[y].in = r[y].dirty = false;
			} else {
				n++;
			}
			r[x].in = true;
		}
		link_newest(r, ends, x);
		r[x].dirty |= access_write(a, i);
	}
	out->read = out->misses;
	free(r);
	return 0;
}

/* ------------------------------------------------------------------ OPT */

uint32_t *bounds_next(const struct accesses *a)
{
	uint32_t *next = malloc((a->n ? a->n : 1) * sizeof(*next));
	uint32_t *coming = malloc(((size_t)a->pages + 1) * sizeof(*coming));

	if (next && coming) {
		memset(coming, 0xff, a->pages * sizeof(*coming));
		for (size_t i = a->n; i-- > 0;) {
			next[i] = coming[access_page(a, i)];
			coming[access_page(a, i)] = (uint32_t)i;
		}
	} else {
		free(next);
		next = NULL;
	}
	free(coming);
	return next;
}

/* A heap of the present pages. The page at its top is needed last. */
struct heap {
	uint32_t *page, n;
	uint32_t *place, *next; /* by page */
};

#define OUT UINT32_MAX /* the place of a page that is not in the heap */

static void bounds_put(struct heap *h, uint32_t at, uint32_t x)
{
	h->page[at] = x;
	h->place[x] = at;
}

static void heap_rise(struct heap *h, uint32_t at)
{
	uint32_t x = h->page[at];

	while (at && h->next[h->page[(at - 1) / 2]] < h->next[x]) {
		bounds_put(h, at, h->page[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	bounds_put(h, at, x);
}

static void heap_sink(struct heap *h, uint32_t at)
{
	uint32_t x = h->page[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < h->n && h->next[h->page[child + 1]] > h->next[h->page[child]])
			child++;
		if (child >= h->n || h->next[h->page[child]] <= h->next[x])
			break;
		bounds_put(h, at, h->page[child]);
		at = child;
	}
	bounds_put(h, at, x);
}

static uint32_t take_last(struct heap *h)
{
	uint32_t x = h->page[0];

	h->place[x] = OUT;
	if (--h->n) {
		bounds_put(h, 0, h->page[h->n]);
		heap_sink(h, 0);
	}
	return x;
}

static void play_opt(struct heap *h, bool *dirty, const struct accesses *a, const uint32_t *next,
		     uint32_t pages, struct buffer_counts *out)
{
	for (size_t i = 0; i < a->n; i++) {
		uint32_t x = access_page(a, i);

		if (h->place[x] == OUT) {
			out->misses++;
			if (h->n == pages) {
				uint32_t y = take_last(h);

				count_eviction(out, dirty[y]);
				dirty[y] = false;
			}
			bounds_put(h, h->n++, x);
		}
		/* X was the page that is needed first of all, so it can only rise */
		h->next[x] = next[i];
		heap_rise(h, h->place[x]);
		dirty[x] |= access_write(a, i);
	}
	out->read = out->misses;
}

int bounds_opt(const struct accesses *a, const uint32_t *next, uint32_t pages,
	       struct buffer_counts *out)
{
	size_t all = (size_t)a->pages + 1;
	struct heap h = { .page = malloc(all * sizeof(*h.page)),
			  .place = malloc(all * sizeof(*h.place)),
			  .next = calloc(all, sizeof(*h.next)) };
	bool *dirty = calloc(all, sizeof(*dirty));
	int result = -1;

	*out = (struct buffer_counts){ 0 };
	if (h.page && h.place && h.next && dirty) {
		memset(h.place, 0xff, all * sizeof(*h.place));
		play_opt(&h, dirty, a, next, pages, out);
		result = 0;
	}
	free(h.page);
	free(h.place);
	free(h.next);
	free(dirty);
	return result;
}
