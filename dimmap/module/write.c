// SPDX-License-Identifier: GPL-2.0
/*
 * Write-back. Dirty pages are on a list of their pool, the longest dirty first. Many pages are
 * unmapped at a time, so that each is written as it was at one moment, and are written in the order
 * of the file. A page that cannot be written becomes dirty again, and the file's next sync returns
 * the error.
 */
#include <linux/blkdev.h>
#include <linux/cgroup.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/sort.h>

#include "dimmap.h"

/* Returns PERCENT of the number of the buffer's pages. */
static u32 dimmap_percent(const struct dimmap_buffer *buffer, u32 percent)
{
	return (u64)buffer->pages * percent / 100;
}

/**
 * dimmap_throttle - waits while too many pages are dirty
 * @file: the file that the caller writes to
 *
 * Return: 0, or -EINTR when the task has a fatal signal.
 */
int dimmap_throttle(struct dimmap_file *file)
{
	struct dimmap_buffer *buffer = file->buffer;
	u32 most = dimmap_percent(buffer, buffer->opt.dirty_max);
	DEFINE_WAIT(wait);

	if (likely(atomic_read(&buffer->dirty) <= most))
		return 0;
	do {
		wake_up(&buffer->writer_wait);
		prepare_to_wait(&buffer->dirty_wait, &wait, TASK_KILLABLE);
		if (atomic_read(&buffer->dirty) > most && !fatal_signal_pending(current))
			schedule_timeout(HZ);
		finish_wait(&buffer->dirty_wait, &wait);
		if (fatal_signal_pending(current))
			return -EINTR;
		/* do not wait for a failing device, as long as there is room for the write */
	} while (atomic_read(&buffer->dirty) > most && !READ_ONCE(buffer->failing) &&
		 !READ_ONCE(file->shut));
	return 0;
}

static int dimmap_by_key(const void *a, const void *b)
{
	u64 x = ((const struct dimmap_pick *)a)->key, y = ((const struct dimmap_pick *)b)->key;

	return x < y ? -1 : x > y;
}

/* Ends the write of N pages of FILE, with ERROR if it is not 0. May run in any context. */
static void dimmap_write_done(struct dimmap_file *file, struct dimmap_lock_pool *pool, u64 key,
			      u32 n, int error)
{
	struct dimmap_buffer *buffer = file->buffer;
	unsigned long flags;
	u32 i;

	/* errors of a removed device do not affect other devices */
	if (!error || !READ_ONCE(file->shut))
		WRITE_ONCE(buffer->failing, error != 0);
	if (!error)
		WRITE_ONCE(file->moved, jiffies);
	spin_lock_irqsave(&pool->lock, flags);
	/* the inode cannot be freed while it is visible under this lock, see dimmap_leave() */
	if (error && file->inode)
		mapping_set_error(file->inode->i_mapping, error);
	pool->stat[error ? DIMMAP_WRITE_ERRORS : DIMMAP_WRITTEN] += error ? 1 : n;
	for (i = 0; i < n; i++) {
		u32 x = dimmap_pool_find(&pool->pool, key + i);
		struct dimmap_frame *frame = &pool->frame[x];

		frame->is_writing = false;
		list_del_init(&frame->dirty);
		if (error && READ_ONCE(file->shut))
			pool->stat[DIMMAP_LOST]++;
		else if (error)
			dimmap_dirty(buffer, pool, x);
		if (!frame->going)
			continue;
		frame->going = false;
		pool->going--;
		if (frame->is_dirty) {
			dimmap_pool_unmapped(&pool->pool, x);
		} else {
			pool->stat[DIMMAP_EVICTED]++;
			pool->stat[DIMMAP_EVICTED_DIRTY]++;
			dimmap_pool_free(&pool->pool, x);
		}
	}
	dimmap_wake(&pool->wait);
	dimmap_wake(&pool->room);
	spin_unlock_irqrestore(&pool->lock, flags);
	if (wq_has_sleeper(&buffer->dirty_wait))
		wake_up_all(&buffer->dirty_wait);
}

/**
 * dimmap_write_pages - sends pages to the device, in the order of their files
 * @buffer: the buffer of the pool
 * @pool: the pool of the pages
 * @pick: the pages, which have is_writing and are unmapped; this function sorts them by key
 * @n: number of pages
 */
void dimmap_write_pages(struct dimmap_buffer *buffer, struct dimmap_lock_pool *pool,
			struct dimmap_pick *pick, u32 n)
{
	struct blk_plug plug;
	u32 i, k;

	sort(pick, n, sizeof(*pick), dimmap_by_key, NULL);
	blk_start_plug(&plug);
	for (i = 0; i < n; i += k) {
		for (k = 1; i + k < n && pick[i + k].key == pick[i].key + k; k++)
			;
		dimmap_io_write(dimmap_file_of_key(buffer, pick[i].key), pool,
				dimmap_index(pick[i].key), k, dimmap_write_done);
	}
	blk_finish_plug(&plug);
}

/*
 * Which pages to write: those that were dirty before MARK, from FIRST to LAST of FILE, or of all
 * files if FILE is NULL.
 */
struct dimmap_choice {
	struct dimmap_file *file;
	pgoff_t first, last;
	u64 mark;
};

static bool dimmap_chosen(const struct dimmap_choice *choice, u64 key)
{
	return !choice->file || (key >> 48 == choice->file->id &&
				 dimmap_index(key) >= choice->first &&
				 dimmap_index(key) <= choice->last);
}

/*
 * Takes up to N pages to write, and marks them UNMAPPING. Sets BUSY if some pages of the choice are
 * in use.
 */
static u32 dimmap_choose(struct dimmap_lock_pool *pool, const struct dimmap_choice *choice,
			 struct dimmap_pick *pick, u32 n, bool *busy)
{
	struct dimmap_frame *frame;
	unsigned long flags;
	u32 found = 0;

	*busy = false;
	spin_lock_irqsave(&pool->lock, flags);
	list_for_each_entry(frame, &pool->dirty, dirty) {
		u32 x = frame - pool->frame;
		u64 key = pool->pool.entry[x].key;

		if (found == n || frame->since > choice->mark)
			break;
		if (!dimmap_chosen(choice, key))
			continue;
		if (dimmap_page_busy(pool, x) || pool->pool.entry[x].queue == DIMMAP_AWAY) {
			*busy = true;
			continue;
		}
		frame->state = DIMMAP_UNMAPPING;
		pick[found++] = (struct dimmap_pick){ key, x };
	}
	spin_unlock_irqrestore(&pool->lock, flags);
	return found;
}

/* Writes a batch of the chosen pages. Returns how many were taken. The write lock is held. */
static u32 dimmap_write_some(struct dimmap_buffer *buffer, struct dimmap_lock_pool *pool,
			     const struct dimmap_choice *choice, bool *busy)
{
	struct dimmap_pick *pick = buffer->pick;
	unsigned long flags;
	u32 n, i, kept = 0;

	n = dimmap_choose(pool, choice, pick, DIMMAP_MAX_BATCH, busy);
	if (!n)
		return 0;
	dimmap_unmap_pages(buffer, pool, pick, buffer->pick_page, n);
	spin_lock_irqsave(&pool->lock, flags);
	for (i = 0; i < n; i++) {
		struct dimmap_frame *frame = &pool->frame[pick[i].x];

		frame->state = DIMMAP_IDLE;
		/* the file was shut meanwhile */
		if (!frame->is_dirty)
			continue;
		dimmap_clean(buffer, pool, pick[i].x);
		/* under the lock, a dirty page keeps its file alive, see dimmap_give_up() */
		refcount_inc(&dimmap_file_of_key(buffer, pick[i].key)->users);
		frame->is_writing = true;
		list_add_tail(&frame->dirty, &pool->writing);
		pick[kept++] = pick[i];
	}
	dimmap_wake(&pool->wait);
	spin_unlock_irqrestore(&pool->lock, flags);
	dimmap_write_pages(buffer, pool, pick, kept);
	return n;
}

/*
 * How long a device may finish none of the awaited pages, and when it last finished one, in
 * jiffies.
 */
struct dimmap_patience {
	unsigned long limit;
	unsigned long moved;
};

static bool dimmap_is_stuck(const struct dimmap_patience *patience)
{
	return time_after(jiffies, patience->moved + patience->limit);
}

/* Takes the write lock. Gives up if its holder waits for a device for too long. */
static int dimmap_write_lock(struct dimmap_buffer *buffer, const struct dimmap_patience *patience)
{
	if (patience->limit == DIMMAP_FOREVER)
		return mutex_lock_killable(&buffer->write_lock);
	while (!mutex_trylock(&buffer->write_lock)) {
		if (dimmap_is_stuck(patience))
			return -ETIMEDOUT;
		schedule_timeout_killable(1);
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	return 0;
}

/* Counts the pages of the choice that are being written, up to MOST. The pool's lock is held. */
static u32 dimmap_count_writing(struct dimmap_lock_pool *pool, const struct dimmap_choice *choice,
				u32 most)
{
	struct dimmap_frame *frame;
	u32 n = 0;

	list_for_each_entry(frame, &pool->writing, dirty) {
		if (frame->since > choice->mark || n == most)
			break;
		n += dimmap_chosen(choice, pool->pool.entry[frame - pool->frame].key);
	}
	return n;
}

/* Waits until none of the chosen pages is being written, or until the time limit. */
static int dimmap_wait_written(struct dimmap_lock_pool *pool, const struct dimmap_choice *choice,
			       struct dimmap_patience *patience)
{
	unsigned long flags, counted = jiffies - HZ;
	u32 before = U32_MAX, n;

	for (;;) {
		bool all = time_after_eq(jiffies, counted + HZ);

		spin_lock_irqsave(&pool->lock, flags);
		/*
		 * Count the pages of this choice: writes of other pages are no progress for it. The
		 * list is long, so all of it is counted only once a second.
		 */
		n = dimmap_count_writing(pool, choice, all ? U32_MAX : 1);
		if (all) {
			counted = jiffies;
			if (n < before)
				patience->moved = jiffies;
			before = n;
		}
		if (!n || dimmap_is_stuck(patience) || READ_ONCE(choice->file->shut)) {
			spin_unlock_irqrestore(&pool->lock, flags);
			return !n ? 0 : READ_ONCE(choice->file->shut) ? -EIO : -ETIMEDOUT;
		}
		if (dimmap_wait(pool, &pool->wait, flags))
			return -EINTR;
	}
}

/**
 * dimmap_sync - writes the dirty pages of a range and flushes the device
 * @file: the file of the range
 * @start: first byte of the range
 * @end: last byte of the range
 * @patience: in jiffies; gives up when the device takes nothing for that long
 *
 * Pages that become dirty meanwhile may be written or not. A failed write sets the mapping's error.
 *
 * Return: 0, -EINTR when the task has a fatal signal, -ETIMEDOUT, -EIO when the file is shut, or an
 * error of the device's flush.
 */
int dimmap_sync(struct dimmap_file *file, loff_t start, loff_t end, unsigned long patience)
{
	struct dimmap_buffer *buffer = file->buffer;
	struct dimmap_choice choice = {
		.file = file,
		.first = start >> PAGE_SHIFT,
		.last = end >> PAGE_SHIFT,
		.mark = atomic64_inc_return(&buffer->clock),
	};
	struct dimmap_patience left = { patience, jiffies };
	bool busy;
	u32 i, n;
	int rc;

	for (i = 0; i < buffer->pools; i++) {
		do {
			rc = dimmap_write_lock(buffer, &left);
			if (rc)
				return rc;
			n = dimmap_write_some(buffer, &buffer->pool[i], &choice, &busy);
			mutex_unlock(&buffer->write_lock);
			if (READ_ONCE(file->shut))
				return -EIO;
			if (n)
				left.moved = jiffies;
			else if (dimmap_is_stuck(&left))
				return -ETIMEDOUT;
			if (!n && busy && schedule_timeout_killable(1) &&
			    fatal_signal_pending(current))
				return -EINTR;
		} while (n || busy);
	}
	choice.mark = atomic64_inc_return(&buffer->clock);
	for (i = 0; i < buffer->pools; i++) {
		rc = dimmap_wait_written(&buffer->pool[i], &choice, &left);
		if (rc)
			return rc;
	}
	return file->read_only ? 0 : dimmap_io_flush(file, patience);
}

/* The write-back thread. Writes while more than dirty_bg percent of the pages are dirty. */
static int dimmap_writer(void *arg)
{
	struct dimmap_buffer *buffer = arg;
	struct dimmap_choice all = { .mark = U64_MAX };
	u32 most = dimmap_percent(buffer, buffer->opt.dirty_bg);
	bool busy;
	u32 i;

	kthread_associate_blkcg(buffer->css);
	while (!kthread_should_stop()) {
		wait_event_interruptible_timeout(buffer->writer_wait, kthread_should_stop() ||
						 atomic_read(&buffer->dirty) > most, HZ);
		for (i = 0; i < buffer->pools && atomic_read(&buffer->dirty) > most &&
		     !kthread_should_stop(); i++) {
			struct dimmap_lock_pool *pool = &buffer->pool[i];

			/* skip a pool that has less than its share of the allowed dirty pages */
			if (READ_ONCE(pool->dirty_count) <= most / buffer->pools)
				continue;
			mutex_lock(&buffer->write_lock);
			dimmap_write_some(buffer, pool, &all, &busy);
			mutex_unlock(&buffer->write_lock);
			cond_resched();
		}
		if (READ_ONCE(buffer->failing))
			schedule_timeout_interruptible(HZ);
	}
	kthread_associate_blkcg(NULL);
	return 0;
}

/* Returns the cgroup that is charged for this task's I/O. */
static struct cgroup_subsys_state *dimmap_io_css(void)
{
#ifdef CONFIG_BLK_CGROUP
	return task_get_css(current, io_cgrp_id);
#else
	return NULL;
#endif
}

/**
 * dimmap_writer_start - starts write-back
 * @buffer: its I/O is accounted to the calling task
 *
 * Return: 0 or an error.
 */
int dimmap_writer_start(struct dimmap_buffer *buffer)
{
	struct task_struct *writer = kthread_create(dimmap_writer, buffer, "dimmap-write");

	if (IS_ERR(writer))
		return PTR_ERR(writer);
	buffer->css = dimmap_io_css();
	buffer->writer = writer;
	wake_up_process(writer);
	return 0;
}

/**
 * dimmap_writer_stop - ends write-back
 * @buffer: without dirty pages, or they were given up
 */
void dimmap_writer_stop(struct dimmap_buffer *buffer)
{
	if (!buffer->writer)
		return;
	kthread_stop(buffer->writer);
	if (buffer->css)
		css_put(buffer->css);
	buffer->writer = NULL;
}
