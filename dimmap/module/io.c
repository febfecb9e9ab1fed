// SPDX-License-Identifier: GPL-2.0
/*
 * I/O of pages. A request belongs to its pages, not to the task that waits for it: the task may be
 * killed.
 */
#include <linux/bio.h>
#include <linux/blk-cgroup.h>
#include <linux/blkdev.h>
#include <linux/highmem.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "dimmap.h"
#include "trace.h"

struct dimmap_io {
	struct dimmap_file *file;
	struct dimmap_lock_pool *pool;
	u64 key;
	u32 n;
	dimmap_io_done *done;
	struct work_struct work;
	struct bio bio;		/* must be the last member: its pages follow it */
};

unsigned int dimmap_io_front(void)
{
	return offsetof(struct dimmap_io, bio);
}

/*
 * Zeroes the bytes of a page behind the end of the file. They are zero in memory and on the device.
 */
static void dimmap_zero_tail(const struct dimmap_file *file, pgoff_t index, struct page *page)
{
	loff_t left = file->size - ((loff_t)index << PAGE_SHIFT);

	if (left < PAGE_SIZE)
		memzero_page(page, left, PAGE_SIZE - left);
}

static struct page *dimmap_page_at(struct dimmap_lock_pool *pool, u64 key)
{
	struct page *page;
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	page = pool->frame[dimmap_pool_find(&pool->pool, key)].page;
	spin_unlock_irqrestore(&pool->lock, flags);
	return page;
}

static void dimmap_io(struct dimmap_file *file, struct dimmap_lock_pool *pool, pgoff_t index,
		      u32 left, blk_opf_t op, dimmap_io_done *done, bool worker);

/*
 * Sends a request again, for one of two reasons. Either the device had no room for it, and the task
 * must not wait, but this worker may. Or the write of several pages has failed: each page is now
 * written alone, so that one bad page does not fail its neighbours. The request keeps its reference
 * to the device.
 */
static void dimmap_io_again(struct work_struct *work)
{
	struct dimmap_io *io = container_of(work, struct dimmap_io, work);
	struct dimmap_file *file = io->file;
	u32 each = io->bio.bi_status == BLK_STS_AGAIN ? io->n : 1, i;

	/* a write has only the references of its pages, which may end before the request does */
	if (op_is_write(bio_op(&io->bio)))
		refcount_inc(&file->users);
	/* the I/O is accounted to the cgroup of the first request */
	kthread_associate_blkcg(bio_blkcg_css(&io->bio));
	for (i = 0; i < io->n; i += each)
		dimmap_io(file, io->pool, dimmap_index(io->key) + i, each,
			  io->bio.bi_opf, io->done, true);
	kthread_associate_blkcg(NULL);
	bio_put(&io->bio);
	dimmap_file_unbound(file);
	dimmap_file_put(file);
}

/* Returns whether dimmap_io_again() must send a request again. */
static bool dimmap_is_for_again(const struct dimmap_io *io)
{
	const struct bio *bio = &io->bio;

	if (bio->bi_status == BLK_STS_AGAIN)
		return bio->bi_opf & REQ_NOWAIT;
	return op_is_write(bio_op(bio)) && io->n > 1 && !READ_ONCE(io->file->shut) &&
	       (bio->bi_status == BLK_STS_IOERR || bio->bi_status == BLK_STS_MEDIUM);
}

static void dimmap_io_end(struct bio *bio)
{
	struct dimmap_io *io = container_of(bio, struct dimmap_io, bio);
	struct dimmap_file *file = io->file;
	bool write = op_is_write(bio_op(bio));
	u32 n = io->n;

	if (dimmap_is_for_again(io)) {
		INIT_WORK(&io->work, dimmap_io_again);
		queue_work(dimmap_io_wq, &io->work);
		return;
	}
	trace_dimmapfs_io(file, dimmap_index(io->key), n, write,
			  blk_status_to_errno(bio->bi_status));
	/* each entry of bi_io_vec is one page */
	if (!write && !bio->bi_status)
		dimmap_zero_tail(file, dimmap_index(io->key + n - 1),
				 bio->bi_io_vec[n - 1].bv_page);
	io->done(file, io->pool, io->key, n, blk_status_to_errno(bio->bi_status));
	bio_put(bio);
	dimmap_file_unbound(file);
	dimmap_file_put_many(file, write ? n : 1);
}

/* Returns the sector of a page. Lowers N to the number of pages that are adjacent on the device. */
static sector_t dimmap_sector(const struct dimmap_file *file, pgoff_t index, u32 *n)
{
	u32 low = 0, high = file->extents;

	if (!file->extent)
		return (sector_t)index << (PAGE_SHIFT - SECTOR_SHIFT);
	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (file->extent[middle].index <= index)
			low = middle;
		else
			high = middle;
	}
	if (high < file->extents)
		*n = min_t(pgoff_t, *n, file->extent[high].index - index);
	return file->extent[low].sector +
	       ((sector_t)(index - file->extent[low].index) << (PAGE_SHIFT - SECTOR_SHIFT));
}

/*
 * Returns how many bytes of a page are on the device: all, unless the source is a device that ends
 * within the page.
 */
static u32 dimmap_bytes(const struct dimmap_file *file, pgoff_t index)
{
	loff_t left = file->size - ((loff_t)index << PAGE_SHIFT);

	return file->extent ? PAGE_SIZE : min_t(loff_t, left, PAGE_SIZE);
}

/* Fails a request to a device that is released. */
static void dimmap_io_refuse(struct dimmap_file *file, struct dimmap_lock_pool *pool,
			     pgoff_t index, u32 n, blk_opf_t op, dimmap_io_done *done)
{
	done(file, pool, dimmap_key(file, index), n, -EIO);
	if (op_is_write(op))
		dimmap_file_put_many(file, n);
}

static void dimmap_io(struct dimmap_file *file, struct dimmap_lock_pool *pool, pgoff_t index,
		      u32 left, blk_opf_t op, dimmap_io_done *done, bool worker)
{
	while (left) {
		u32 n = min_t(u32, left, BIO_MAX_VECS), i;
		struct dimmap_io *io;
		struct bio *bio;
		sector_t sector;

		/* the file was shut, and its device released, after the caller's check */
		if (!refcount_inc_not_zero(&file->bound)) {
			dimmap_io_refuse(file, pool, index, left, op, done);
			return;
		}
		sector = dimmap_sector(file, index, &n);
		/*
		 * A task that sleeps because the device is full cannot be killed, so use NOWAIT if
		 * the device supports it. Check this for each request: a stacked device may change.
		 */
		if (!worker && bdev_nowait(file->bdev))
			op |= REQ_NOWAIT;
		else
			op &= ~(blk_opf_t)REQ_NOWAIT;

		/* cannot fail: the bio_set has a reserve */
		bio = bio_alloc_bioset(file->bdev, n, op, GFP_NOIO, &file->buffer->bios);
		bio->bi_iter.bi_sector = sector;
		bio->bi_end_io = dimmap_io_end;
		io = container_of(bio, struct dimmap_io, bio);
		io->file = file;
		io->pool = pool;
		io->key = dimmap_key(file, index);
		io->n = n;
		io->done = done;
		if (!op_is_write(op))
			refcount_inc(&file->users);
		for (i = 0; i < n; i++) {
			struct page *page = dimmap_page_at(pool, io->key + i);

			if (op_is_write(op))
				dimmap_zero_tail(file, index + i, page);
			__bio_add_page(bio, page, dimmap_bytes(file, index + i), 0);
		}
		submit_bio(bio);
		index += n;
		left -= n;
	}
}

/**
 * dimmap_io_read - reads pages from the device
 * @file: the file of the pages
 * @pool: the pool of the pages, which are READING
 * @first: the first page
 * @n: number of adjacent pages
 * @done: called with the pages of each request, maybe several times
 */
void dimmap_io_read(struct dimmap_file *file, struct dimmap_lock_pool *pool, pgoff_t first, u32 n,
		    dimmap_io_done *done)
{
	dimmap_io(file, pool, first, n, REQ_OP_READ, done, false);
}

/**
 * dimmap_io_write - writes pages to the device
 * @file: the file of the pages
 * @pool: the pool of the pages, which have is_writing, are unmapped, and each hold a reference
 * @first: the first page
 * @n: number of adjacent pages
 * @done: called with the pages of each request, maybe several times
 */
void dimmap_io_write(struct dimmap_file *file, struct dimmap_lock_pool *pool, pgoff_t first, u32 n,
		     dimmap_io_done *done)
{
	/*
	 * REQ_SYNC | REQ_IDLE keep the block layer from throttling the write, since eviction may
	 * wait for it
	 */
	dimmap_io(file, pool, first, n, REQ_OP_WRITE | REQ_SYNC | REQ_IDLE, done, false);
}

/* A flush of the device's cache. It may outlive the task that waits for it. */
struct dimmap_flushing {
	refcount_t users;
	struct completion done;
	struct dimmap_file *file;
	int rc;
};

static void dimmap_flushing_put(struct dimmap_flushing *f)
{
	if (refcount_dec_and_test(&f->users))
		kfree(f);
}

static void dimmap_flush_end(struct bio *bio)
{
	struct dimmap_flushing *f = bio->bi_private;
	struct dimmap_file *file = f->file;

	f->rc = blk_status_to_errno(bio->bi_status);
	complete(&f->done);
	bio_put(bio);
	dimmap_flushing_put(f);
	dimmap_file_unbound(file);
	dimmap_file_put(file);
}

/**
 * dimmap_io_flush - flushes the device's cache, so that finished writes survive a power cut
 * @file: on the device
 * @patience: jiffies to wait
 *
 * Return: 0, -EINTR when the task has a fatal signal, -ETIMEDOUT, -ENOMEM, -EIO when the file is
 * shut, or the device's error.
 */
int dimmap_io_flush(struct dimmap_file *file, unsigned long patience)
{
	struct dimmap_flushing *f = kmalloc(sizeof(*f), GFP_KERNEL);
	struct bio *bio;
	long left;
	int rc;

	if (!f)
		return -ENOMEM;
	if (!refcount_inc_not_zero(&file->bound)) {
		kfree(f);
		return -EIO;
	}
	refcount_set(&f->users, 2);
	init_completion(&f->done);
	f->file = file;
	refcount_inc(&file->users);
	bio = bio_alloc(file->bdev, 0, REQ_OP_WRITE | REQ_PREFLUSH | REQ_SYNC, GFP_NOIO);
	bio->bi_end_io = dimmap_flush_end;
	bio->bi_private = f;
	submit_bio(bio);
	left = wait_for_completion_killable_timeout(&f->done, patience);
	rc = left < 0 ? -EINTR : !left ? -ETIMEDOUT : f->rc;
	dimmap_flushing_put(f);
	return rc;
}
