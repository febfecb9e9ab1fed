// SPDX-License-Identifier: GPL-2.0-or-later
#include "cache.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

struct cache {
	struct cache_shape shape;
	uint64_t sets;
	/*
	 * shape.ways entries for each set, the last used one first: line number + 1, or 0 for none
	 */
	uint64_t *lines;
	uint8_t *locks; /* one for each set */
};

uint64_t cache_sets(const struct cache_shape *shape)
{
	uint64_t way;

	if (!shape->ways || shape->ways > 1024 || shape->sample > 16)
		return 0;
	way = (uint64_t)CACHE_LINE * shape->ways << shape->sample;
	return shape->size % way ? 0 : shape->size / way;
}

struct cache *cache_new(const struct cache_shape *shape)
{
	uint64_t sets = cache_sets(shape);
	struct cache *c = sets ? calloc(1, sizeof(*c)) : NULL;

	if (!c)
		return NULL;
	c->shape = *shape;
	c->sets = sets;
	c->lines = calloc(sets * shape->ways, sizeof(*c->lines));
	c->locks = calloc(sets, 1);
	if (!c->lines || !c->locks) {
		cache_free(c);
		return NULL;
	}
	return c;
}

void cache_free(struct cache *c)
{
	if (!c)
		return;
	free(c->lines);
	free(c->locks);
	free(c);
}

/*
 * Lock one set. Only a few instructions run under the lock, but the host may stop the thread that
 * holds it.
 */
static void lock_set(uint8_t *lock)
{
	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void unlock_set(uint8_t *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

/*
 * Bring LINE into the cache if it is not there. Returns whether it was there. A new line becomes
 * the last used one; a line that was there becomes so only if TOUCH.
 */
static bool fetch(struct cache *c, uint64_t line, bool touch)
{
	uint64_t set = (line >> c->shape.sample) % c->sets;
	uint64_t *lines = c->lines + set * c->shape.ways;
	unsigned way = 0;
	bool hit;

	lock_set(&c->locks[set]);
	while (way < c->shape.ways && lines[way] != line + 1)
		way++;
	hit = way < c->shape.ways;
	if (!hit)
		way = c->shape.ways - 1; /* replace the least recently used line */
	if (!hit || touch) {
		memmove(lines + 1, lines, way * sizeof(*lines));
		lines[0] = line + 1;
	}
	unlock_set(&c->locks[set]);
	return hit;
}

unsigned cache_access(struct cache *c, uint64_t line)
{
	const uint64_t mask = ((uint64_t)1 << c->shape.sample) - 1;
	uint64_t next = line + 1;

	if (line & mask)
		return 0;
	if (fetch(c, line, true))
		return CACHE_SAMPLED;
	if (!c->shape.prefetch || next & mask || next % (CACHE_PAGE / CACHE_LINE) == 0 ||
	    fetch(c, next, false))
		return CACHE_SAMPLED | CACHE_MISS;
	return CACHE_SAMPLED | CACHE_MISS | CACHE_PREFETCHED;
}

bool l1_access(struct l1 *l1, uint64_t line)
{
	uint64_t *set = l1->line[line % L1_SETS];

	if (set[0] == line + 1)
		return true;
	if (set[1] == line + 1) {
		set[1] = set[0];
		set[0] = line + 1;
		return true;
	}
	set[1] = set[0];
	set[0] = line + 1;
	return false;
}

void l1_clear(struct l1 *l1)
{
	memset(l1, 0, sizeof(*l1));
}
