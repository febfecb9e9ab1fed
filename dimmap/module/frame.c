// SPDX-License-Identifier: GPL-2.0
/*
 * State changes of pages that reads (page.c), write-back (write.c) and eviction (evict.c) share:
 * dirty, clean, unmapped, dropped.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "dimmap.h"
#include "trace.h"

/**
 * dimmap_wait - waits for a change in a pool, for a second at most
 * @pool: its lock is held, and released
 * @head: the queue of the pool to wait on
 * @flags: the interrupt flags of the lock
 *
 * Return: 0, or -EINTR when the task has a fatal signal.
 */
int dimmap_wait(struct dimmap_lock_pool *pool, wait_queue_head_t *head, unsigned long flags)
	__releases(&pool->lock)
{
	DEFINE_WAIT(wait);

	prepare_to_wait(head, &wait, TASK_KILLABLE);
	spin_unlock_irqrestore(&pool->lock, flags);
	if (!fatal_signal_pending(current))
		schedule_timeout(HZ);
	finish_wait(head, &wait);
	return fatal_signal_pending(current) ? -EINTR : 0;
}

/**
 * dimmap_dirty - marks a page dirty before a change
 * @buffer: the buffer of the pool
 * @pool: the pool of the page; its lock is held
 * @x: the page, which is not being written
 */
void dimmap_dirty(struct dimmap_buffer *buffer, struct dimmap_lock_pool *pool, u32 x)
{
	struct dimmap_frame *frame = &pool->frame[x];

	if (frame->is_dirty)
		return;
	frame->is_dirty = true;
	frame->since = atomic64_inc_return(&buffer->clock);
	list_add_tail(&frame->dirty, &pool->dirty);
	pool->dirty_count++;
	atomic_inc(&buffer->dirty);
}

/**
 * dimmap_clean - marks a page clean before it is written, or when it is given up
 * @buffer: the buffer of the pool
 * @pool: the pool of the page; its lock is held
 * @x: the page
 */
void dimmap_clean(struct dimmap_buffer *buffer, struct dimmap_lock_pool *pool, u32 x)
{
	struct dimmap_frame *frame = &pool->frame[x];

	frame->is_dirty = false;
	frame->since = atomic64_inc_return(&buffer->clock);
	list_del_init(&frame->dirty);
	pool->dirty_count--;
	atomic_dec(&buffer->dirty);
}

/* Returns whether a page can be neither unmapped nor freed now. */
bool dimmap_page_busy(void *arg, u32 x)
{
	struct dimmap_lock_pool *pool = arg;
	const struct dimmap_frame *frame = &pool->frame[x];

	return frame->users || frame->state != DIMMAP_IDLE || frame->is_writing;
}

/**
 * dimmap_unmap_pages - unmaps pages from all programs
 * @buffer: the buffer of the pool
 * @pool: the pool of the pages
 * @pick: the pages, which no task can map meanwhile
 * @page: scratch space for @n pages
 * @n: number of pages
 *
 * After the return no program writes to the pages by a mapping.
 */
void dimmap_unmap_pages(struct dimmap_buffer *buffer, struct dimmap_lock_pool *pool,
			struct dimmap_pick *pick, struct dimmap_page *page, u32 n)
{
	struct dimmap_unmapped count = {};
	unsigned long flags;
	u32 first, i, k, id;

	/* go through the files, from the lowest number to the highest */
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
		/* a file without an inode has no mappings, see dimmap_leave() */
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

/*
 * Calls a function for each page of a file, with the page's pool locked. If the function returns
 * true, waits and calls it again for this page.
 */
static void dimmap_each(struct dimmap_file *file,
			bool (*told)(struct dimmap_file *file, struct dimmap_lock_pool *pool,
				     u32 x))
{
	struct dimmap_buffer *buffer = file->buffer;
	unsigned long flags;
	u32 i, x;

	for (i = 0; i < buffer->pools; i++) {
		struct dimmap_lock_pool *pool = &buffer->pool[i];

		spin_lock_irqsave(&pool->lock, flags);
		for (x = 0; x < pool->pool.pages; x++) {
			const struct dimmap_entry *e = &pool->pool.entry[x];
			bool again = e->queue != DIMMAP_FREE && e->key >> 48 == file->id &&
				     told(file, pool, x);

			if (again || x % 256 == 255) {
				spin_unlock_irqrestore(&pool->lock, flags);
				if (again)
					schedule_timeout_uninterruptible(1);
				cond_resched();
				spin_lock_irqsave(&pool->lock, flags);
				x -= again;
			}
		}
		spin_unlock_irqrestore(&pool->lock, flags);
	}
}

static bool dimmap_drop_one(struct dimmap_file *file, struct dimmap_lock_pool *pool, u32 x)
{
	struct dimmap_frame *frame = &pool->frame[x];

	if (frame->users || frame->state != DIMMAP_IDLE || frame->is_writing ||
	    pool->pool.entry[x].queue == DIMMAP_AWAY)
		return true;
	if (frame->is_dirty) {
		dimmap_clean(file->buffer, pool, x);
		pool->stat[DIMMAP_LOST]++;
	}
	dimmap_pool_free(&pool->pool, x);
	dimmap_wake(&pool->room);
	return false;
}

/**
 * dimmap_drop - frees a file's pages; dirty ones are lost
 * @file: shut, without mappings and without pages at the device
 */
void dimmap_drop(struct dimmap_file *file)
{
	dimmap_each(file, dimmap_drop_one);
}

static bool dimmap_give_up_one(struct dimmap_file *file, struct dimmap_lock_pool *pool, u32 x)
{
	struct dimmap_frame *frame = &pool->frame[x];

	if (frame->is_dirty) {
		dimmap_clean(file->buffer, pool, x);
		pool->stat[DIMMAP_LOST]++;
	}
	if (frame->reader)
		complete(frame->reader);
	dimmap_wake(&pool->wait);
	return false;
}

/**
 * dimmap_give_up - wakes tasks that wait for a shut file; dirty pages are lost
 * @file: shut
 */
void dimmap_give_up(struct dimmap_file *file)
{
	dimmap_each(file, dimmap_give_up_one);
}

static bool dimmap_leave_one(struct dimmap_file *file, struct dimmap_lock_pool *pool, u32 x)
{
	const struct dimmap_frame *frame = &pool->frame[x];

	return frame->state == DIMMAP_UNMAPPING ||
	       (pool->pool.entry[x].queue == DIMMAP_AWAY && !frame->going);
}

/**
 * dimmap_leave - waits until no task unmaps pages of a file
 * @file: its inode pointer is NULL already
 */
void dimmap_leave(struct dimmap_file *file)
{
	dimmap_each(file, dimmap_leave_one);
}
