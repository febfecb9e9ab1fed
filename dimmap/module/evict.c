// SPDX-License-Identifier: GPL-2.0
/* Making room: pages are unmapped many at a time, wait among the victims, and go. */
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "dimmap.h"
#include "trace.h"

/**
 * dimmap_unmap_pages - takes pages away from programs
 * @buffer: it is
 * @pool: they are in
 * @pick: they are
 * @page: room for as many
 * @n: of them, which nobody may map meanwhile
 *
 * Nobody writes to them by a mapping when it returns.
 */
void dimmap_unmap_pages(struct dimmap_buffer *buffer, struct dimmap_lock_pool *pool,
			struct dimmap_pick *pick, struct dimmap_page *page, u32 n)
{
	struct dimmap_unmapped count = {};
	unsigned long flags;
	u32 first, i, k, id;

	/* file by file, from the lowest number to the highest */
	for (id = 0, first = 0; first < n; id++) {
		struct dimmap_file *file;
		struct inode *inode;
		u32 next = U32_MAX;

		for (i = 0; i < n; i++)
			if (pick[i].key >> 48 >= id)
				next = min_t(u32, next, pick[i].key >> 48);
		id = next;
		file = dimmap_file_of_key(buffer, (u64)id << 48);
		for (i = 0, k = 0; i < n; i++)
			if (pick[i].key >> 48 == id)
				page[k++] = (struct dimmap_page){
					dimmap_index(pick[i].key),
					page_to_pfn(pool->frame[pick[i].x].page)
				};
		first += k;
		/* without one, nobody has it mapped (dimmap_leave()) */
		inode = READ_ONCE(file->inode);
		if (inode)
			dimmap_unmap(inode->i_mapping, page, k, buffer->opt.tlb, &count);
	}
	trace_dimmapfs_unmap(buffer, n, count.ptes, count.flushes);
	spin_lock_irqsave(&pool->lock, flags);
	pool->stat[DIMMAP_BATCHES] += n > 0;
	pool->stat[DIMMAP_UNMAPPED] += n;
	pool->stat[DIMMAP_PTES] += count.ptes;
	pool->stat[DIMMAP_FLUSHES] += count.flushes;
	spin_unlock_irqrestore(&pool->lock, flags);
}

/* Whether somebody has to do with a page, so that it cannot be unmapped or go. */
bool dimmap_page_busy(void *arg, u32 x)
{
	struct dimmap_lock_pool *pool = arg;
	const struct dimmap_frame *frame = &pool->frame[x];

	return frame->users || frame->state != DIMMAP_IDLE || frame->is_writing;
}

/* Lets victims go that have been there the longest; tells those that have to be written first. */
static u32 dimmap_let_go(struct dimmap_buffer *buffer, struct dimmap_lock_pool *pool)
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
 * Until a victim that is on its way to the device is there, but not for long: other pages may be of
 * a device that does answer. Returns whether a page is free, or an error.
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
 * @pool: without a free page, and with nobody else in here
 * @file: that needs it
 *
 * Return: 0: a page was free; -EIO: none is, as nothing can be written, or the file is shut;
 * -EINTR: the task is to die.
 */
int dimmap_evict(struct dimmap_lock_pool *pool, const struct dimmap_file *file)
{
	struct dimmap_buffer *buffer = file->buffer;
	u32 n, dirty, i, vain = 0;
	unsigned long flags;
	int rc;

	/* what the one before has sent to the device is room, too */
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
		dirty = dimmap_let_go(buffer, pool);
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
		/* all are in use for a moment, or what should go could not be written */
		if (READ_ONCE(buffer->failing) && ++vain > 4)
			return -EIO;
		if (!n || dirty)
			schedule_timeout_killable(1);
	}
}
