/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which pages a dimmap buffer keeps. The same code decides in the kernel module and in the
 * simulator; it needs neither a kernel nor a C library, holds no lock and allocates nothing.
 *
 * A pool is a part of a buffer with a lock of its own in the module: so many pages, and where each
 * is in a file (its key). A policy cannot see that a program uses a page that it has mapped. It
 * sees three things: that a page is needed which is not there (admit); that one is needed which
 * was unmapped a while ago, as it would have to go soon (recover); and that one has gone (freed).
 * The pages between unmapped and gone are the victims: a queue in order of unmapping, whose length
 * is how long a page has to show that it is still in use.
 *
 * A page is on one queue: FREE, FIRST or SECOND (what they mean is the policy's), VICTIM; or on
 * none while the caller does something with it (AWAY).
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
	u32 next, prev; /* on its queue */
	u32 chain; /* the next one with the same hash */
	u16 faults; /* as the policy counts them */
	u8 queue;
	u8 from; /* the queue that a victim was on */
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
	u32 victims; /* length of that queue */
	bool swapped; /* the queues FIRST and SECOND, of sieve */
	/* of policies that know pages which are not there */
	u16 *history;
	u64 history_sum;
	u32 history_mask, history_age;
	u64 *ghost;
	u32 ghost_mask, ghost_time;
};

/**
 * struct dimmap_policy - a way to choose
 * @name: as users write it
 * @victims: of 64 pages, so many are victims; 0: what is unmapped goes at once
 * @history, @ghost: what it keeps of pages that are not there
 * @admit: puts a page that is new on a queue
 * @pick: tells which page is the next to be unmapped, which stays on its queue; at least one of
 *	FIRST and SECOND has pages
 * @recover: puts a page that has been a victim on a queue
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

/* The default first; ends with NULL. */
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

/* For policies. */
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
