// SPDX-License-Identifier: GPL-2.0
/*
 * The pages of a pool: their places, their queues, and how they are admitted and freed (policy.h).
 */
#include "policy.h"

/*
 * Hashes a key, so that neighbouring keys are far apart (the finalizer of splitmix64, Steele et al.
 * 2014).
 */
u64 dimmap_hash(u64 key)
{
	key ^= key >> 30;
	key *= 0xbf58476d1ce4e5b9ull;
	key ^= key >> 27;
	key *= 0x94d049bb133111ebull;
	return key ^ key >> 31;
}

/* Returns the smallest power of two that is not below N. */
static u32 dimmap_power(u32 n)
{
	u32 power = 1;

	while (power < n)
		power <<= 1;
	return power;
}

/**
 * dimmap_pool_size - memory that a pool needs
 * @policy: the policy of the pool
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
 * dimmap_pool_init - sets up a pool of free pages
 * @pool: the pool to set up
 * @memory: zeroed, of dimmap_pool_size(), aligned as a u64; the caller frees it after use
 * @policy: the policy of the pool
 * @pages: the number of pages
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

/* Appends a page, which is on no queue, to a queue. */
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
 * dimmap_pool_find - looks up a page
 * @pool: the pool to search
 * @key: the key of the page
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
 * dimmap_pool_admit - admits a page that is not present
 * @pool: the pool of the page
 * @key: the key of the page, which dimmap_pool_find() does not find
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
 * dimmap_pool_prefer - makes a page the next that dimmap_pool_admit() returns
 * @pool: the pool of the page
 * @x: a free page
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
 * dimmap_pool_recover - returns a used victim to the policy's queues
 * @pool: the pool of the page
 * @x: a page on the queue VICTIM
 */
void dimmap_pool_recover(struct dimmap_pool *pool, u32 x)
{
	dimmap_remove(pool, x);
	pool->policy->recover(pool, x);
}

/**
 * dimmap_pool_pick - picks pages to unmap
 * @pool: the pool of the pages
 * @x: receives the pages
 * @n: most pages to pick
 * @busy: returns whether a page cannot be unmapped now; NULL: none is busy
 * @arg: for @busy
 *
 * Picked pages are on no queue (AWAY) until dimmap_pool_unmapped(). Busy pages go to the end of
 * their queues after the search, so that it does not meet them again.
 *
 * Return: number of picked pages.
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
 * dimmap_pool_unmapped - makes an unmapped page a victim
 * @pool: the pool of the page
 * @x: a page of dimmap_pool_pick(), or a dimmap_pool_oldest() that could not be freed
 */
void dimmap_pool_unmapped(struct dimmap_pool *pool, u32 x)
{
	dimmap_push(pool, DIMMAP_VICTIM, x);
}

/**
 * dimmap_pool_oldest - takes the oldest victim off its queue and reports it to the policy
 * @pool: the pool of the victims
 * @busy: returns whether a page cannot be freed now; NULL: none is busy
 * @arg: for @busy
 *
 * Return: a victim, on no queue, for dimmap_pool_free(); DIMMAP_NONE when there are no more victims
 * than intended, or the oldest are busy.
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
 * dimmap_pool_free - frees a page
 * @pool: the pool of the page
 * @x: on any queue but FREE, or on none
 *
 * Does not call the policy: dimmap_pool_oldest() has called it, in the order of the victims. Dirty
 * pages are freed in another order, after they are written.
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
