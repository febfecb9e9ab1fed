// SPDX-License-Identifier: GPL-2.0
/*
 * The policies (policy.h). All policies see the same events: admit, recover, freed.
 *
 * fifo: evicts the oldest page; the baseline for comparisons.
 * dimmap: Van Essen et al.'s DI-MMAP (Cluster Computing 18, 2015): a FIFO, a second FIFO for pages
 *	that were needed more often than the mean, and the victims. Counts outlive an eviction.
 * sieve: Zhang et al., NSDI 2024: a hand moves from the oldest page to the newest; a page used
 *	since the hand's last round keeps its place. Here a recovered page counts as used.
 * s3fifo: Yang et al., SOSP 2023: new pages enter a small FIFO, which evicts them unless they are
 *	used again; pages used again, or readmitted soon after, are in the main FIFO.
 */
#include "policy.h"

static void admit_first(struct dimmap_pool *pool, u32 x)
{
	dimmap_push(pool, DIMMAP_FIRST, x);
}

static u32 pick_first(struct dimmap_pool *pool)
{
	return dimmap_head(pool, DIMMAP_FIRST);
}

static const struct dimmap_policy fifo = {
	.name = "fifo",
	.admit = admit_first,
	.pick = pick_first,
	.recover = admit_first,
};

static u16 *dimmap_history(struct dimmap_pool *pool, u32 x)
{
	return &pool->history[dimmap_hash(pool->entry[x].key) >> 32 & pool->history_mask];
}

/*
 * Returns whether a page was needed more often than the mean of all counts. Its first fault does
 * not count.
 */
static bool dimmap_hot(const struct dimmap_pool *pool, u32 x)
{
	return (u64)(pool->entry[x].faults - 1) * (pool->history_mask + 1ull) > pool->history_sum;
}

/*
 * Halves four counts. In about as many admissions as the pool has pages, each count is halved once.
 */
static void dimmap_age(struct dimmap_pool *pool)
{
	u32 i;

	for (i = 0; i < 4; i++) {
		u16 *known = &pool->history[pool->history_age++ & pool->history_mask];

		pool->history_sum -= *known - *known / 2;
		*known /= 2;
	}
}

static void dimmap_admit(struct dimmap_pool *pool, u32 x)
{
	u16 known = *dimmap_history(pool, x);

	pool->entry[x].faults = known + (known < 0xffff);
	dimmap_push(pool, DIMMAP_FIRST, x);
	dimmap_age(pool);
}

static u32 dimmap_pick(struct dimmap_pool *pool)
{
	u32 x, i;

	/* hot pages get half of all pages; move 64 at most, since a lock is held */
	for (i = 0; i < 64 && dimmap_count(pool, DIMMAP_SECOND) <= pool->pages / 2; i++) {
		x = dimmap_head(pool, DIMMAP_FIRST);
		if (x == DIMMAP_NONE)
			break;
		if (!dimmap_hot(pool, x))
			return x;
		dimmap_remove(pool, x);
		dimmap_push(pool, DIMMAP_SECOND, x);
	}
	x = dimmap_head(pool, DIMMAP_FIRST);
	if (i == 64 && x != DIMMAP_NONE)
		return x;
	return dimmap_head(pool, DIMMAP_SECOND);
}

static void dimmap_recover(struct dimmap_pool *pool, u32 x)
{
	pool->entry[x].faults += pool->entry[x].faults < 0xffff;
	dimmap_push(pool, DIMMAP_FIRST, x);
}

static void dimmap_freed(struct dimmap_pool *pool, u32 x)
{
	u16 *known = dimmap_history(pool, x), faults = pool->entry[x].faults;

	if (faults > *known) {
		pool->history_sum += faults - *known;
		*known = faults;
	} else if (*known) {
		pool->history_sum--;
		(*known)--;
	}
}

static const struct dimmap_policy dimmap = {
	.name = "dimmap",
	.victims = 2,
	.history = true,
	.admit = dimmap_admit,
	.pick = dimmap_pick,
	.recover = dimmap_recover,
	.freed = dimmap_freed,
};

/*
 * One queue has the pages ahead of the hand, the other queue those that the hand has passed. They
 * swap roles.
 */
static enum dimmap_queue_id sieve_ahead(const struct dimmap_pool *pool)
{
	return pool->swapped ? DIMMAP_SECOND : DIMMAP_FIRST;
}

static void sieve_admit(struct dimmap_pool *pool, u32 x)
{
	dimmap_push(pool, sieve_ahead(pool), x);
}

static u32 sieve_pick(struct dimmap_pool *pool)
{
	if (!dimmap_count(pool, sieve_ahead(pool)))
		pool->swapped = !pool->swapped;
	return dimmap_head(pool, sieve_ahead(pool));
}

static void sieve_recover(struct dimmap_pool *pool, u32 x)
{
	dimmap_push(pool, pool->swapped ? DIMMAP_FIRST : DIMMAP_SECOND, x);
}

static const struct dimmap_policy sieve = {
	.name = "sieve",
	.victims = 8,
	.admit = sieve_admit,
	.pick = sieve_pick,
	.recover = sieve_recover,
};

/*
 * A ghost has the time of an eviction and one half of the key's hash. The other half selects its
 * slot, which a newer ghost may overwrite. A ghost is valid until as many evictions have followed
 * as the main FIFO has pages.
 */
static u64 *s3fifo_ghost(struct dimmap_pool *pool, u32 x)
{
	return &pool->ghost[dimmap_hash(pool->entry[x].key) >> 32 & pool->ghost_mask];
}

static u32 s3fifo_small(const struct dimmap_pool *pool)
{
	return pool->pages / 20;
}

static void s3fifo_admit(struct dimmap_pool *pool, u32 x)
{
	u64 ghost = *s3fifo_ghost(pool, x);
	bool known = ghost && (u32)ghost == (u32)dimmap_hash(pool->entry[x].key) &&
		     pool->ghost_time - (u32)(ghost >> 32) < pool->pages - s3fifo_small(pool);

	dimmap_push(pool, known ? DIMMAP_SECOND : DIMMAP_FIRST, x);
}

static u32 s3fifo_pick(struct dimmap_pool *pool)
{
	bool small = dimmap_count(pool, DIMMAP_FIRST) > s3fifo_small(pool) ||
		     !dimmap_count(pool, DIMMAP_SECOND);

	return dimmap_head(pool, small ? DIMMAP_FIRST : DIMMAP_SECOND);
}

static void s3fifo_recover(struct dimmap_pool *pool, u32 x)
{
	dimmap_push(pool, DIMMAP_SECOND, x);
}

static void s3fifo_freed(struct dimmap_pool *pool, u32 x)
{
	if (pool->entry[x].from != DIMMAP_FIRST)
		return;
	pool->ghost_time++;
	*s3fifo_ghost(pool, x) = (u64)pool->ghost_time << 32 | (u32)dimmap_hash(pool->entry[x].key);
}

static const struct dimmap_policy s3fifo = {
	.name = "s3fifo",
	.victims = 8,
	.ghost = true,
	.admit = s3fifo_admit,
	.pick = s3fifo_pick,
	.recover = s3fifo_recover,
	.freed = s3fifo_freed,
};

const struct dimmap_policy *const dimmap_policies[] = { &s3fifo, &dimmap, &fifo, &sieve, NULL };

/**
 * dimmap_policy_find - finds a policy by its name
 * @name: the name of the policy
 *
 * Return: the policy, or NULL when no policy has that name.
 */
const struct dimmap_policy *dimmap_policy_find(const char *name)
{
	u32 i, k;

	for (i = 0; dimmap_policies[i]; i++) {
		const char *own = dimmap_policies[i]->name;

		for (k = 0; own[k] && own[k] == name[k]; k++)
			;
		if (own[k] == name[k])
			return dimmap_policies[i];
	}
	return NULL;
}
