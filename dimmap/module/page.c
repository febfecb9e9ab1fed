// SPDX-License-Identifier: GPL-2.0
/* Lookup of a page in its pool, and its read from the device. dimmap.h has the states. */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/psi.h>
#include <linux/sched/signal.h>
#include <linux/topology.h>

#include "dimmap.h"
#include "trace.h"

/*
 * Makes sure that a page is free, by eviction if necessary, which releases the lock and takes it
 * again. Returns 0 if the lock was held all the time, 1 if it was not, or an error.
 */
static int dimmap_room(struct dimmap_file *file, struct dimmap_lock_pool *pool,
		       unsigned long *flags)
{
	int rc;

	if (dimmap_count(&pool->pool, DIMMAP_FREE))
		return 0;
	if (pool->evicting) {
		rc = dimmap_wait(pool, &pool->room, *flags);
	} else {
		pool->evicting = true;
		spin_unlock_irqrestore(&pool->lock, *flags);
		rc = dimmap_evict(pool, file);
		spin_lock_irqsave(&pool->lock, *flags);
		pool->evicting = false;
		dimmap_wake(&pool->room);
		return rc ?: 1;
	}
	spin_lock_irqsave(&pool->lock, *flags);
	return rc ?: 1;
}

/*
 * If a free page of this CPU's node is near the head of the queue, makes it the next page to use.
 */
static void dimmap_prefer_local(struct dimmap_buffer *buffer, struct dimmap_lock_pool *pool)
{
	u32 x = dimmap_head(&pool->pool, DIMMAP_FREE), tries = 16;
	int node = numa_node_id();

	if (!buffer->opt.local || !node_isset(node, buffer->opt.nodes))
		return;
	while (x != DIMMAP_NONE && tries-- && page_to_nid(pool->frame[x].page) != node)
		x = pool->pool.entry[x].next;
	if (x != DIMMAP_NONE && page_to_nid(pool->frame[x].page) == node)
		dimmap_pool_prefer(&pool->pool, x);
}

static u32 dimmap_admit(struct dimmap_buffer *buffer, struct dimmap_lock_pool *pool, u64 key)
{
	struct dimmap_frame *frame;
	u32 x;

	dimmap_prefer_local(buffer, pool);
	x = dimmap_pool_admit(&pool->pool, key);
	frame = &pool->frame[x];
	frame->state = DIMMAP_READING;
	frame->users = 0;
	frame->failed = false;
	pool->stat[page_to_nid(frame->page) == numa_node_id() ? DIMMAP_LOCAL : DIMMAP_REMOTE]++;
	return x;
}

/**
 * dimmap_fill - the window of pages that is read together with a page
 * @file: the file of the page
 * @index: the index of the page in the file
 * @how: enum dimmap_get
 * @first: set to the first page of the window
 *
 * Return: the number of pages.
 */
u32 dimmap_fill(const struct dimmap_file *file, pgoff_t index, unsigned int how, pgoff_t *first)
{
	struct dimmap_buffer *buffer = file->buffer;
	pgoff_t pages = DIV_ROUND_UP_ULL(file->size, PAGE_SIZE);
	u32 n = how & (DIMMAP_GET_ONE | DIMMAP_GET_WHOLE) ? 1 : buffer->window;

	*first = index & ~(pgoff_t)(n - 1);
	return min_t(pgoff_t, n, pages - *first);
}

/* The device has read N pages of FILE, or failed; any context. */
static void dimmap_read_done(struct dimmap_file *file, struct dimmap_lock_pool *pool, u64 key,
			     u32 n, int error)
{
	unsigned long flags;
	u32 i, x;

	spin_lock_irqsave(&pool->lock, flags);
	pool->stat[error ? DIMMAP_READ_ERRORS : DIMMAP_READ] += error ? 1 : n;
	for (i = 0; i < n; i++) {
		struct dimmap_frame *frame;

		x = dimmap_pool_find(&pool->pool, key + i);
		frame = &pool->frame[x];
		frame->state = DIMMAP_IDLE;
		frame->failed = error && frame->users;
		if (frame->reader)
			complete(frame->reader);
		if (error && !frame->users)
			dimmap_pool_free(&pool->pool, x);
	}
	dimmap_wake(&pool->wait);
	if (error)
		dimmap_wake(&pool->room);
	spin_unlock_irqrestore(&pool->lock, flags);
}

static void dimmap_read_window(struct dimmap_file *file, struct dimmap_lock_pool *pool,
			       pgoff_t first, u32 n, unsigned long *mine)
{
	unsigned int start, end;

	for_each_set_bitrange(start, end, mine, n)
		dimmap_io_read(file, pool, first + start, end - start, dimmap_read_done);
	bitmap_zero(mine, n);
}

/*
 * Admits the missing pages of a window, the needed page last. The lock is held, and may be released
 * and taken again. Sets the bits of the admitted pages in MINE, and X to the entry of the needed
 * page, or to DIMMAP_NONE if another task has admitted it. Before an eviction it reads the pages
 * that it has admitted, and clears their bits: another task may wait for one of them, and no
 * other task would request it from the device.
 */
static int dimmap_admit_window(struct dimmap_file *file, struct dimmap_lock_pool *pool,
			       pgoff_t first, u32 n, pgoff_t index, unsigned long *mine, u32 *x,
			       unsigned long *flags)
{
	bool full;
	u32 i, at;
	int rc;

	for (i = 0; i <= n; i++) {
		/* the needed page is the last one */
		at = i < n ? i : index - first;
		if (i < n && first + i == index)
			continue;
		do {
			*x = dimmap_pool_find(&pool->pool, dimmap_key(file, first + at));
			if (*x != DIMMAP_NONE)
				break;
			full = !dimmap_count(&pool->pool, DIMMAP_FREE);
			if (full) {
				spin_unlock_irqrestore(&pool->lock, *flags);
				dimmap_read_window(file, pool, first, n, mine);
				spin_lock_irqsave(&pool->lock, *flags);
			}
			rc = dimmap_room(file, pool, flags);
			if (rc < 0)
				return rc;
			/* no page is admitted to a shut file */
			if (READ_ONCE(file->shut))
				return -EIO;
			/* the lock was released: another task may have admitted the page */
		} while (rc || full);
		if (*x != DIMMAP_NONE) {
			*x = DIMMAP_NONE;
			continue;
		}
		/* check with the lock held, so that a dimmap_drop() sees this page */
		if (READ_ONCE(file->shut))
			return -EIO;
		*x = dimmap_admit(file->buffer, pool, dimmap_key(file, first + at));
		__set_bit(at, mine);
	}
	return 0;
}

/* Reads a missing page. Returns 0, 1 if the page must be looked up again, or an error. */
static int dimmap_miss(struct dimmap_file *file, struct dimmap_lock_pool *pool, pgoff_t index,
		       unsigned int how, struct dimmap_use *use, unsigned long flags)
	__releases(&pool->lock)
{
	DECLARE_BITMAP(mine, DIMMAP_WINDOW) = { 0 };
	DECLARE_COMPLETION_ONSTACK(done);
	u64 start = ktime_get_ns();
	struct dimmap_frame *frame;
	unsigned long stall;
	pgoff_t first;
	bool failed;
	u32 n, x;
	int rc;

	n = dimmap_fill(file, index, how, &first);
	rc = dimmap_admit_window(file, pool, first, n, index, mine, &x, &flags);
	if (rc) {
		spin_unlock_irqrestore(&pool->lock, flags);
		/* read the neighbours that were admitted */
		dimmap_read_window(file, pool, first, n, mine);
		return rc;
	}
	if (x == DIMMAP_NONE) {
		spin_unlock_irqrestore(&pool->lock, flags);
		dimmap_read_window(file, pool, first, n, mine);
		return 1;
	}
	frame = &pool->frame[x];
	frame->users = 1;
	*use = (struct dimmap_use){ .buffer = file->buffer, .pool = pool, .x = x,
				    .page = frame->page, .major = true };
	pool->stat[DIMMAP_MAJOR]++;
	if (how & DIMMAP_GET_USER) {
		pool->stat[DIMMAP_USER_MAJOR]++;
		pool->stat[DIMMAP_VMA_LOCKED] += !!(how & DIMMAP_GET_VMA_LOCK);
	}
	if (how & DIMMAP_GET_WHOLE) {
		use->whole = true;
		spin_unlock_irqrestore(&pool->lock, flags);
		return 0;
	}
	frame->reader = &done;
	spin_unlock_irqrestore(&pool->lock, flags);

	dimmap_read_window(file, pool, first, n, mine);
	/* no stall if the read is done already */
	if (!try_wait_for_completion(&done)) {
		psi_memstall_enter(&stall);
		rc = wait_for_completion_killable(&done);
		psi_memstall_leave(&stall);
	}

	spin_lock_irqsave(&pool->lock, flags);
	frame->reader = NULL;
	failed = frame->failed || frame->state == DIMMAP_READING;
	if (!failed) {
		u32 bin = fls64(ktime_get_ns() - start);

		pool->latency[min(bin, DIMMAP_LATENCIES - 1u)]++;
		if (how & DIMMAP_GET_WRITE)
			dimmap_dirty(file->buffer, pool, x);
		use->dirty = frame->is_dirty;
	}
	spin_unlock_irqrestore(&pool->lock, flags);
	if (!failed)
		return 0;
	dimmap_page_put(use);
	if (rc)
		return -EINTR;
	/* read the page alone: the error may be a neighbour's */
	return n > 1 && !READ_ONCE(file->shut) ? 1 : -EIO;
}

/**
 * dimmap_page_get - gets a page of a file for use
 * @file: the file of the page
 * @index: the index of the page in the file
 * @how: enum dimmap_get
 * @use: set for dimmap_page_put()
 *
 * Return: 0; -EFAULT: the page is behind the end of the file; -EIO: it could not be read, the file
 * is shut, or no page can be written to make room; -EINTR: the task has a fatal signal.
 */
int dimmap_page_get(struct dimmap_file *file, pgoff_t index, unsigned int how,
		    struct dimmap_use *use)
{
	struct dimmap_buffer *buffer = file->buffer;
	u64 key = dimmap_key(file, index);
	struct dimmap_lock_pool *pool = dimmap_pool_of(buffer, key);
	struct dimmap_frame *frame;
	unsigned long flags;
	bool recovered;
	u32 x;
	int rc;

	if (index >= DIV_ROUND_UP_ULL(file->size, PAGE_SIZE))
		return -EFAULT;
	if (how & DIMMAP_GET_WRITE) {
		rc = dimmap_throttle(file);
		if (rc)
			return rc;
	}
	for (;;) {
		spin_lock_irqsave(&pool->lock, flags);
		if (READ_ONCE(file->shut)) {
			spin_unlock_irqrestore(&pool->lock, flags);
			return -EIO;
		}
		x = dimmap_pool_find(&pool->pool, key);
		if (x == DIMMAP_NONE) {
			rc = dimmap_miss(file, pool, index, how, use, flags);
			if (rc <= 0) {
				trace_dimmapfs_get(file, index, how,
						   rc ? DIMMAP_FOUND_ERROR : DIMMAP_FOUND_NOT);
				return rc;
			}
			how |= DIMMAP_GET_ONE;
			continue;
		}
		frame = &pool->frame[x];
		if (pool->pool.entry[x].queue != DIMMAP_AWAY && frame->state == DIMMAP_IDLE &&
		    !frame->failed && !(how & DIMMAP_GET_WRITE && frame->is_writing))
			break;
		rc = dimmap_wait(pool, &pool->wait, flags);
		if (rc)
			return rc;
	}
	recovered = pool->pool.entry[x].queue == DIMMAP_VICTIM;
	if (recovered) {
		dimmap_pool_recover(&pool->pool, x);
		pool->stat[DIMMAP_RECOVERED]++;
	}
	pool->stat[DIMMAP_MINOR]++;
	frame->users++;
	if (how & DIMMAP_GET_WRITE)
		dimmap_dirty(buffer, pool, x);
	*use = (struct dimmap_use){ .buffer = buffer, .pool = pool, .x = x, .page = frame->page,
				    .dirty = frame->is_dirty };
	spin_unlock_irqrestore(&pool->lock, flags);
	trace_dimmapfs_get(file, index, how, recovered ? DIMMAP_FOUND_VICTIM : DIMMAP_FOUND);
	return 0;
}

/**
 * dimmap_page_near - gets a page that is present, without a read or a change of queues
 * @file: the file of the page
 * @index: the index of the page in the file
 * @use: set for dimmap_page_put()
 *
 * Return: whether the page is present. The policy does not see this use.
 */
bool dimmap_page_near(struct dimmap_file *file, pgoff_t index, struct dimmap_use *use)
{
	u64 key = dimmap_key(file, index);
	struct dimmap_lock_pool *pool = dimmap_pool_of(file->buffer, key);
	struct dimmap_frame *frame;
	unsigned long flags;
	bool good = false;
	u32 x;

	spin_lock_irqsave(&pool->lock, flags);
	x = dimmap_pool_find(&pool->pool, key);
	if (x != DIMMAP_NONE) {
		u8 queue = pool->pool.entry[x].queue;

		frame = &pool->frame[x];
		good = (queue == DIMMAP_FIRST || queue == DIMMAP_SECOND) &&
		       frame->state == DIMMAP_IDLE && !frame->failed &&
		       !READ_ONCE(file->shut);
		frame->users += good;
	}
	if (good)
		*use = (struct dimmap_use){ .buffer = file->buffer, .pool = pool, .x = x,
					    .page = frame->page, .dirty = frame->is_dirty };
	spin_unlock_irqrestore(&pool->lock, flags);
	return good;
}

/**
 * dimmap_page_put - ends the use of a page
 * @use: set by dimmap_page_get() or dimmap_page_near()
 */
void dimmap_page_put(struct dimmap_use *use)
{
	struct dimmap_lock_pool *pool = use->pool;
	struct dimmap_frame *frame = &pool->frame[use->x];
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	if (use->whole) {
		frame->state = DIMMAP_IDLE;
		dimmap_dirty(use->buffer, pool, use->x);
		dimmap_wake(&pool->wait);
	}
	if (!--frame->users && frame->failed) {
		frame->failed = false;
		dimmap_pool_free(&pool->pool, use->x);
		dimmap_wake(&pool->wait);
		dimmap_wake(&pool->room);
	}
	spin_unlock_irqrestore(&pool->lock, flags);
}

