// SPDX-License-Identifier: GPL-2.0
/* Eviction: pages are unmapped many at a time, wait as victims, and are freed. */
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "dimmap.h"

/* Frees the oldest clean victims. Puts dirty victims into pool->pick, and returns their number. */
static u32 dimmap_free_victims(struct dimmap_buffer *buffer, struct dimmap_lock_pool *pool)
{
	u32 dirty = 0, x;

	while (dirty < pool->batch &&
	       (x = dimmap_pool_oldest(&pool->pool, dimmap_page_busy, pool)) != DIMMAP_NONE) {
		struct dimmap_frame *frame = &pool->frame[x];

		if (frame->is_dirty) {
			dimmap_clean(buffer, pool, x);
			refcount_inc(&dimmap_file_of_key(buffer, pool->pool.entry[x].key)->users);
			frame->is_writing = true;
			list_add_tail(&frame->dirty, &pool->writing);
			frame->going = true;
			pool->going++;
			pool->pick[dirty++] = (struct dimmap_pick){ pool->pool.entry[x].key, x };
		} else {
			pool->stat[DIMMAP_EVICTED]++;
			dimmap_pool_free(&pool->pool, x);
		}
	}
	return dirty;
}

/*
 * Waits until a victim that is being written is free, but for a second at most: other victims may
 * be of a device that answers sooner. Returns whether a page is free, or an error.
 */
static int dimmap_wait_for_room(struct dimmap_lock_pool *pool)
{
	unsigned long flags, until = jiffies + HZ;
	int rc = 0;

	spin_lock_irqsave(&pool->lock, flags);
	while (!dimmap_count(&pool->pool, DIMMAP_FREE) && pool->going &&
	       time_before(jiffies, until)) {
		rc = dimmap_wait(pool, &pool->room, flags);
		if (rc)
			return rc;
		spin_lock_irqsave(&pool->lock, flags);
	}
	rc = dimmap_count(&pool->pool, DIMMAP_FREE) > 0;
	spin_unlock_irqrestore(&pool->lock, flags);
	return rc;
}

/**
 * dimmap_evict - makes room in a pool
 * @pool: without a free page; only one task at a time evicts (pool->evicting)
 * @file: the file that needs a page
 *
 * Return: 0: a page was free; -EIO: no page can be written, or the file is shut; -EINTR: the task
 * has a fatal signal.
 */
int dimmap_evict(struct dimmap_lock_pool *pool, const struct dimmap_file *file)
{
	struct dimmap_buffer *buffer = file->buffer;
	u32 n, dirty, i, vain = 0;
	unsigned long flags;
	int rc;

	/* the previous eviction's writes make room, too */
	rc = dimmap_wait_for_room(pool);
	if (rc)
		return rc < 0 ? rc : 0;
	for (;;) {
		spin_lock_irqsave(&pool->lock, flags);
		n = dimmap_pool_pick(&pool->pool, pool->picked, pool->batch, dimmap_page_busy,
				     pool);
		for (i = 0; i < n; i++)
			pool->pick[i] = (struct dimmap_pick){
				pool->pool.entry[pool->picked[i]].key, pool->picked[i]
			};
		spin_unlock_irqrestore(&pool->lock, flags);

		if (n)
			dimmap_unmap_pages(buffer, pool, pool->pick, pool->page, n);

		spin_lock_irqsave(&pool->lock, flags);
		for (i = 0; i < n; i++)
			dimmap_pool_unmapped(&pool->pool, pool->picked[i]);
		dirty = dimmap_free_victims(buffer, pool);
		rc = dimmap_count(&pool->pool, DIMMAP_FREE) > 0;
		dimmap_wake(&pool->wait);
		if (rc)
			dimmap_wake(&pool->room);
		spin_unlock_irqrestore(&pool->lock, flags);

		if (dirty)
			dimmap_write_pages(buffer, pool, pool->pick, dirty);
		if (rc)
			return 0;
		rc = dimmap_wait_for_room(pool);
		if (rc)
			return rc < 0 ? rc : 0;
		if (fatal_signal_pending(current))
			return -EINTR;
		if (READ_ONCE(file->shut))
			return -EIO;
		/* either all pages are in use at the moment, or victims cannot be written */
		if (READ_ONCE(buffer->failing) && ++vain > 4)
			return -EIO;
		if (!n || dirty)
			schedule_timeout_killable(1);
	}
}
