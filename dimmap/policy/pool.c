// SPDX-License-Identifier: GPL-2.0
/* The pages of a pool: where they are, on which queue, and how they come and go (policy.h). */
#include "policy.h"

/* Spreads keys, neighbours too (the finalizer of splitmix64, Steele et al. 2014). */
u64 dimmap_hash(u64 key)
{
	key ^= key >> 30;
	key *= 0xbf58476d1ce4e5b9ull;
	key ^= key >> 27;
	key *= 0x94d049bb133111ebull;
	return key ^ key >> 31;
}

/* The power of two that is not below N. */
static u32 dimmap_power(u32 n)
{
	u32 power = 1;

	while (power < n)
		power <<= 1;
	return power;
}

/**
 * dimmap_pool_size - memory that a pool needs
 * @policy: which it is for
 * @pages: at least 1, at most 2^28
 *
 * Return: bytes, for dimmap_pool_init().
 */
size_t dimmap_pool_size(const struct dimmap_policy *policy, u32 pages)
{
	size_t power = dimmap_power(pages);

	return pages * sizeof(struct dimmap_entry) + power * sizeof(u32) +
	       (policy->history ? 4 * power * sizeof(u16) : 0) +
	       (policy->ghost ? 2 * power * sizeof(u64) : 0);
}

/**
 * dimmap_pool_init - a pool of free pages
 * @pool: to be set up
 * @memory: zeroed, of dimmap_pool_size(), aligned as a u64; the caller's, who frees it after use
 * @policy: to be used
 * @pages: their number
 */
void dimmap_pool_init(struct dimmap_pool *pool, void *memory, const struct dimmap_policy *policy,
		      u32 pages)
{
	u32 power = dimmap_power(pages), i;

	*pool = (struct dimmap_pool){ .policy = policy, .pages = pages };
	pool->entry = memory;
	memory = pool->entry + pages;
	if (policy->ghost) {
		pool->ghost = memory;
		pool->ghost_mask = 2 * power - 1;
		memory = pool->ghost + 2 * power;
	}
	pool->bucket = memory;
	pool->mask = power - 1;
	memory = pool->bucket + power;
	if (policy->history) {
		pool->history = memory;
		pool->history_mask = 4 * power - 1;
	}
	pool->victims = (u32)((u64)pages * policy->victims / 64);
	for (i = 0; i < DIMMAP_QUEUES; i++)
		pool->queue[i] = (struct dimmap_queue){ DIMMAP_NONE, DIMMAP_NONE, 0 };
	for (i = 0; i < power; i++)
		pool->bucket[i] = DIMMAP_NONE;
	for (i = 0; i < pages; i++)
		dimmap_push(pool, DIMMAP_FREE, i);
}

/* Puts a page that is on no queue at the end of one. */
void dimmap_push(struct dimmap_pool *pool, enum dimmap_queue_id queue, u32 x)
{
	struct dimmap_queue *q = &pool->queue[queue];
	struct dimmap_entry *e = &pool->entry[x];

	e->queue = queue;
	e->next = DIMMAP_NONE;
	e->prev = q->tail;
	if (q->tail == DIMMAP_NONE)
		q->head = x;
	else
		pool->entry[q->tail].next = x;
	q->tail = x;
	q->count++;
}

/* Takes a page from its queue. */
void dimmap_remove(struct dimmap_pool *pool, u32 x)
{
	struct dimmap_entry *e = &pool->entry[x];
	struct dimmap_queue *q = &pool->queue[e->queue];

	if (e->prev == DIMMAP_NONE)
		q->head = e->next;
	else
		pool->entry[e->prev].next = e->next;
	if (e->next == DIMMAP_NONE)
		q->tail = e->prev;
	else
		pool->entry[e->next].prev = e->prev;
	q->count--;
	e->queue = DIMMAP_AWAY;
}

/**
 * dimmap_pool_find - where a page is
 * @pool: to look in
 * @key: of the page
 *
 * Return: its entry, or DIMMAP_NONE.
 */
u32 dimmap_pool_find(const struct dimmap_pool *pool, u64 key)
{
	u32 x = pool->bucket[dimmap_hash(key) & pool->mask];

	while (x != DIMMAP_NONE && pool->entry[x].key != key)
		x = pool->entry[x].chain;
	return x;
}

/**
 * dimmap_pool_admit - a place for a page that is not there
 * @pool: to put it in
 * @key: of the page, which dimmap_pool_find() does not find
 *
 * Return: its entry, or DIMMAP_NONE when no page is free.
 */
u32 dimmap_pool_admit(struct dimmap_pool *pool, u64 key)
{
	u32 *bucket = &pool->bucket[dimmap_hash(key) & pool->mask];
	u32 x = dimmap_head(pool, DIMMAP_FREE);

	if (x == DIMMAP_NONE)
		return x;
	dimmap_remove(pool, x);
	pool->entry[x].key = key;
	pool->entry[x].faults = 0;
	pool->entry[x].chain = *bucket;
	*bucket = x;
	pool->policy->admit(pool, x);
	return x;
}

/**
 * dimmap_pool_prefer - lets a page be the next that dimmap_pool_admit() gives out
 * @pool: it is in
 * @x: free
 */
void dimmap_pool_prefer(struct dimmap_pool *pool, u32 x)
{
	struct dimmap_queue *q = &pool->queue[DIMMAP_FREE];

	if (q->head == x)
		return;
	dimmap_remove(pool, x);
	pool->entry[x].queue = DIMMAP_FREE;
	pool->entry[x].prev = DIMMAP_NONE;
	pool->entry[x].next = q->head;
	if (q->head == DIMMAP_NONE)
		q->tail = x;
	else
		pool->entry[q->head].prev = x;
	q->head = x;
	q->count++;
}

/**
 * dimmap_pool_recover - a page is used that was to go
 * @pool: it is in
 * @x: on the queue of victims
 */
void dimmap_pool_recover(struct dimmap_pool *pool, u32 x)
{
	dimmap_remove(pool, x);
	pool->policy->recover(pool, x);
}

/**
 * dimmap_pool_pick - which pages are to be unmapped next
 * @pool: of them
 * @x: where to put them
 * @n: that many, if there are
 * @busy: tells of a page that it cannot be unmapped now; NULL: all can
 * @arg: for @busy
 *
 * They are on no queue then (AWAY), until dimmap_pool_unmapped(). Busy pages go to the end of their
 * queues when all others have been found, so that they do not stand in the way.
 *
 * Return: how many.
 */
u32 dimmap_pool_pick(struct dimmap_pool *pool, u32 *x, u32 n, bool (*busy)(void *arg, u32 x),
		     void *arg)
{
	u32 found = 0, tries = 2 * n + 64, aside = DIMMAP_NONE;

	while (found < n && tries-- &&
	       dimmap_count(pool, DIMMAP_FIRST) + dimmap_count(pool, DIMMAP_SECOND)) {
		u32 y = pool->policy->pick(pool);
		u8 queue = pool->entry[y].queue;

		dimmap_remove(pool, y);
		pool->entry[y].from = queue;
		if (busy && busy(arg, y)) {
			pool->entry[y].next = aside;
			aside = y;
		} else {
			x[found++] = y;
		}
	}
	while (aside != DIMMAP_NONE) {
		u32 y = aside;

		aside = pool->entry[y].next;
		dimmap_push(pool, pool->entry[y].from, y);
	}
	return found;
}

/**
 * dimmap_pool_unmapped - what dimmap_pool_pick() told has been done
 * @pool: it is in
 * @x: one of these pages, a victim from now on
 */
void dimmap_pool_unmapped(struct dimmap_pool *pool, u32 x)
{
	dimmap_push(pool, DIMMAP_VICTIM, x);
}

/**
 * dimmap_pool_oldest - the next page that is to go
 * @pool: of it
 * @busy: tells of a page that it cannot go now; NULL: all can
 * @arg: for @busy
 *
 * Return: a victim, on no queue any more, for dimmap_pool_free(), of which the policy takes note;
 * DIMMAP_NONE when there are no more victims than there should be, or the oldest are busy.
 */
u32 dimmap_pool_oldest(struct dimmap_pool *pool, bool (*busy)(void *arg, u32 x), void *arg)
{
	u32 x = dimmap_head(pool, DIMMAP_VICTIM), tries = 16;

	if (dimmap_count(pool, DIMMAP_VICTIM) <= pool->victims)
		return DIMMAP_NONE;
	while (x != DIMMAP_NONE && busy && busy(arg, x))
		x = tries-- ? pool->entry[x].next : DIMMAP_NONE;
	if (x != DIMMAP_NONE) {
		dimmap_remove(pool, x);
		if (pool->policy->freed)
			pool->policy->freed(pool, x);
	}
	return x;
}

/**
 * dimmap_pool_free - a page goes
 * @pool: it is in
 * @x: on any queue but FREE, or on none
 *
 * No policy is told: that its time had come, dimmap_pool_oldest() has said, in the order of the
 * victims, while pages that are written first become free in another.
 */
void dimmap_pool_free(struct dimmap_pool *pool, u32 x)
{
	u32 *at = &pool->bucket[dimmap_hash(pool->entry[x].key) & pool->mask];

	while (*at != x)
		at = &pool->entry[*at].chain;
	*at = pool->entry[x].chain;
	if (pool->entry[x].queue != DIMMAP_AWAY)
		dimmap_remove(pool, x);
	dimmap_push(pool, DIMMAP_FREE, x);
}
