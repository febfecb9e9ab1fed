/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Chooses the pages that a dimmap buffer keeps. The kernel module and the simulator share this
 * code. It needs neither a kernel nor a C library, takes no lock and allocates nothing.
 *
 * A pool is a part of a buffer; in the module it has a lock of its own. It has a number of pages,
 * each with its place in a file (its key). A policy cannot see that a program uses a mapped page.
 * It sees three events: a page is needed that is not present (admit); a page is needed that was
 * unmapped as a victim (recover); a victim is no longer kept (freed). Victims are a queue in the
 * order of unmapping. The longer the queue, the more time a page has to show that it is still in
 * use.
 *
 * A page is on one queue: FREE, FIRST, SECOND or VICTIM. FIRST and SECOND mean what the policy
 * wants. While the caller unmaps, writes or frees a page, it is on no queue (AWAY).
 */
#ifndef NODEOS_DIMMAP_POLICY_POLICY_H
#define NODEOS_DIMMAP_POLICY_POLICY_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
#endif

#define DIMMAP_NONE (~(u32)0)

enum dimmap_queue_id {
	DIMMAP_FREE,
	DIMMAP_FIRST,
	DIMMAP_SECOND,
	DIMMAP_VICTIM,
	DIMMAP_QUEUES,
	DIMMAP_AWAY = DIMMAP_QUEUES,
};

struct dimmap_entry {
	u64 key;
	u32 next, prev; /* neighbours on the page's queue */
	u32 chain; /* the next entry of the hash bucket */
	u16 faults; /* faults of the page, as the policy counts them */
	u8 queue;
	u8 from; /* the queue of the page before it was picked */
};

struct dimmap_queue {
	u32 head, tail, count;
};

struct dimmap_pool {
	const struct dimmap_policy *policy;
	struct dimmap_entry *entry;
	u32 *bucket;
	u32 pages, mask;
	struct dimmap_queue queue[DIMMAP_QUEUES];
	u32 victims; /* intended length of the queue VICTIM */
	bool swapped; /* sieve: whether FIRST and SECOND are swapped */
	/* records of pages that are not present, for policies that need them */
	u16 *history;
	u64 history_sum;
	u32 history_mask, history_age;
	u64 *ghost;
	u32 ghost_mask, ghost_time;
};

/**
 * struct dimmap_policy - a policy
 * @name: as users write it
 * @victims: number of victims among 64 pages; 0: unmapped pages are freed at once
 * @history, @ghost: whether the policy needs these records of pages that are not present
 * @admit: puts a new page on a queue
 * @pick: returns the next page to unmap, which stays on its queue; at least one of FIRST and SECOND
 *	has pages
 * @recover: puts a former victim on a queue
 * @freed: a page's time as a victim is over; optional
 */
struct dimmap_policy {
	const char *name;
	u32 victims;
	bool history, ghost;
	void (*admit)(struct dimmap_pool *pool, u32 x);
	u32 (*pick)(struct dimmap_pool *pool);
	void (*recover)(struct dimmap_pool *pool, u32 x);
	void (*freed)(struct dimmap_pool *pool, u32 x);
};

/* The first policy is the default. NULL ends the list. */
extern const struct dimmap_policy *const dimmap_policies[];

const struct dimmap_policy *dimmap_policy_find(const char *name);

size_t dimmap_pool_size(const struct dimmap_policy *policy, u32 pages);
void dimmap_pool_init(struct dimmap_pool *pool, void *memory, const struct dimmap_policy *policy,
		      u32 pages);

u32 dimmap_pool_find(const struct dimmap_pool *pool, u64 key);
u32 dimmap_pool_admit(struct dimmap_pool *pool, u64 key);
void dimmap_pool_prefer(struct dimmap_pool *pool, u32 x);
void dimmap_pool_recover(struct dimmap_pool *pool, u32 x);
u32 dimmap_pool_pick(struct dimmap_pool *pool, u32 *x, u32 n, bool (*busy)(void *arg, u32 x),
		     void *arg);
void dimmap_pool_unmapped(struct dimmap_pool *pool, u32 x);
u32 dimmap_pool_oldest(struct dimmap_pool *pool, bool (*busy)(void *arg, u32 x), void *arg);
void dimmap_pool_free(struct dimmap_pool *pool, u32 x);

/* Only for the policies. */
void dimmap_push(struct dimmap_pool *pool, enum dimmap_queue_id queue, u32 x);
void dimmap_remove(struct dimmap_pool *pool, u32 x);
u64 dimmap_hash(u64 key);

static inline u32 dimmap_count(const struct dimmap_pool *pool, enum dimmap_queue_id queue)
{
	return pool->queue[queue].count;
}

static inline u32 dimmap_head(const struct dimmap_pool *pool, enum dimmap_queue_id queue)
{
	return pool->queue[queue].head;
}

#endif
