/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/sim/buffer.h"

#include <stdlib.h>

struct part {
	struct dimmap_pool pool;
	void *memory;
	bool *dirty; /* by entry */
	uint32_t *picked;
	uint32_t batch;
};

struct buffer {
	uint32_t pools, fill;
	struct buffer_counts counts;
	struct part part[];
};

static uint32_t at_least_1(uint32_t n)
{
	return n ? n : 1;
}

static uint32_t lesser_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static int part_init(struct part *p, const struct buffer_options *o, uint32_t pages)
{
	p->batch = at_least_1(lesser_of(o->batch, pages / 4));
	p->memory = calloc(1, dimmap_pool_size(o->policy, pages));
	p->dirty = calloc(pages, sizeof(*p->dirty));
	p->picked = calloc(p->batch, sizeof(*p->picked));
	if (!p->memory || !p->dirty || !p->picked)
		return -1;
	dimmap_pool_init(&p->pool, p->memory, o->policy, pages);
	return 0;
}

struct buffer *buffer_new(const struct buffer_options *o)
{
	struct buffer *b = calloc(1, sizeof(*b) + o->pools * sizeof(b->part[0]));
	uint32_t fill = lesser_of(o->fill, at_least_1(o->pages / o->pools / 4));

	if (!b)
		return NULL;
	b->pools = o->pools;
	for (b->fill = 1; 2 * b->fill <= fill; b->fill *= 2)
		;
	for (uint32_t i = 0; i < o->pools; i++)
		if (part_init(&b->part[i], o, o->pages / o->pools + (i < o->pages % o->pools)) <
		    0) {
			buffer_free(b);
			return NULL;
		}
	return b;
}

void buffer_free(struct buffer *b)
{
	if (!b)
		return;
	for (uint32_t i = 0; i < b->pools; i++) {
		free(b->part[i].memory);
		free(b->part[i].dirty);
		free(b->part[i].picked);
	}
	free(b);
}

static void buffer_make_room(struct buffer *b, struct part *p)
{
	while (!dimmap_count(&p->pool, DIMMAP_FREE)) {
		uint32_t n = dimmap_pool_pick(&p->pool, p->picked, p->batch, NULL, NULL), x;

		b->counts.batches += n > 0;
		b->counts.unmapped += n;
		for (uint32_t i = 0; i < n; i++)
			dimmap_pool_unmapped(&p->pool, p->picked[i]);
		while ((x = dimmap_pool_oldest(&p->pool, NULL, NULL)) != DIMMAP_NONE) {
			b->counts.evicted++;
			b->counts.evicted_dirty += p->dirty[x];
			dimmap_pool_free(&p->pool, x);
		}
	}
}

static uint32_t admit(struct buffer *b, struct part *p, uint64_t key)
{
	uint32_t x;

	buffer_make_room(b, p);
	x = dimmap_pool_admit(&p->pool, key);
	p->dirty[x] = false;
	b->counts.read++;
	return x;
}

static struct part *buffer_part_of(struct buffer *b, uint64_t key)
{
	const uint64_t files = ~UINT64_C(0) << 48;
	uint64_t hash = dimmap_hash((key & files) | (key & ~files) / BUFFER_WINDOW);

	return &b->part[(hash >> 32) * b->pools >> 32];
}

/*
 * Admit the pages that are read together with KEY. Windows are aligned, and their size is a power
 * of two, so no window is in two pools.
 */
static void admit_beside(struct buffer *b, struct part *p, uint64_t key, uint64_t file_pages)
{
	const uint64_t files = ~UINT64_C(0) << 48;
	uint64_t first = key & ~(uint64_t)(b->fill - 1), end = (key & files) + file_pages;

	for (uint64_t k = first; k < first + b->fill && k < end; k++)
		if (k != key && dimmap_pool_find(&p->pool, k) == DIMMAP_NONE)
			admit(b, p, k);
}

/*
 * A page on FIRST or SECOND is always mapped, since no write-back unmaps pages here. So the policy
 * does not see accesses to it.
 */
enum buffer_result buffer_access(struct buffer *b, uint64_t key, uint64_t file_pages, bool write)
{
	enum buffer_result result = BUFFER_HIT;
	struct part *p = buffer_part_of(b, key);
	uint32_t x = dimmap_pool_find(&p->pool, key);

	if (x == DIMMAP_NONE) {
		admit_beside(b, p, key, file_pages);
		x = admit(b, p, key);
		b->counts.misses++;
		result = BUFFER_MISS;
	} else if (p->pool.entry[x].queue == DIMMAP_VICTIM) {
		dimmap_pool_recover(&p->pool, x);
		b->counts.recovers++;
		result = BUFFER_RECOVER;
	}
	if (write)
		p->dirty[x] = true;
	return result;
}

const struct buffer_counts *buffer_counts(const struct buffer *b)
{
	return &b->counts;
}

uint64_t buffer_present(const struct buffer *b)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < b->pools; i++)
		n += b->part[i].pool.pages - dimmap_count(&b->part[i].pool, DIMMAP_FREE);
	return n;
}

const struct dimmap_pool *buffer_pool(const struct buffer *b, uint32_t i)
{
	return &b->part[i].pool;
}
