// SPDX-License-Identifier: GPL-2.0
/* Pages from a device and to it. A request belongs to its pages, not to who waits: he may be killed. */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/highmem.h>

#include "dimmap.h"

struct dimmap_io {
	struct dimmap_file *file;
	struct dimmap_lock_pool *pool;
	u64 key;
	u32 n;
	struct bio bio;		/* the last, with its pages behind it */
};

unsigned int dimmap_io_front(void)
{
	return offsetof(struct dimmap_io, bio);
}

/* What is behind the end of the file is zero, in memory and on the device. */
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

static void dimmap_read_end(const struct dimmap_io *io, bool good)
{
	u64 last = io->key + io->n - 1;

	if (good)
		dimmap_zero_tail(io->file, dimmap_index(last), dimmap_page_at(io->pool, last));
	dimmap_read_done(io->pool, io->key, io->n, good);
}

static void dimmap_io_end(struct bio *bio)
{
	struct dimmap_io *io = container_of(bio, struct dimmap_io, bio);
	struct dimmap_file *file = io->file;

	if (op_is_write(bio_op(bio)))
		dimmap_write_done(file, io->pool, io->key, io->n,
				  blk_status_to_errno(bio->bi_status));
	else
		dimmap_read_end(io, !bio->bi_status);
	bio_put(bio);
	dimmap_file_put(file);
}

/* The sector of a page, and how many follow on the device, N at most. */
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

/* Bytes of a page that the device has; a file's last block is whole. */
static u32 dimmap_bytes(const struct dimmap_file *file, pgoff_t index)
{
	loff_t left = file->size - ((loff_t)index << PAGE_SHIFT);

	return file->extent ? PAGE_SIZE : min_t(loff_t, left, PAGE_SIZE);
}

static void dimmap_io(struct dimmap_file *file, struct dimmap_lock_pool *pool, pgoff_t index,
		      u32 left, blk_opf_t op)
{
	while (left) {
		u32 n = min_t(u32, left, BIO_MAX_VECS), i;
		sector_t sector = dimmap_sector(file, index, &n);
		struct dimmap_io *io;
		struct bio *bio;

		/* from a reserve when there is no memory: it does not fail */
		bio = bio_alloc_bioset(file->bdev, n, op, GFP_NOIO, &file->buffer->bios);
		bio->bi_iter.bi_sector = sector;
		bio->bi_end_io = dimmap_io_end;
		io = container_of(bio, struct dimmap_io, bio);
		io->file = file;
		io->pool = pool;
		io->key = dimmap_key(file, index);
		io->n = n;
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
 * dimmap_io_read - asks the device for pages; dimmap_read_done() is told
 * @file: of which
 * @pool: they are in, READING
 * @first: of them
 * @n: of them, that follow each other
 */
void dimmap_io_read(struct dimmap_file *file, struct dimmap_lock_pool *pool, pgoff_t first, u32 n)
{
	dimmap_io(file, pool, first, n, REQ_OP_READ);
}

/**
 * dimmap_io_write - sends pages to the device; dimmap_write_done() is told
 * @file: of which
 * @pool: they are in, is_writing and unmapped
 * @first: of them
 * @n: of them, that follow each other
 */
void dimmap_io_write(struct dimmap_file *file, struct dimmap_lock_pool *pool, pgoff_t first, u32 n)
{
	dimmap_io(file, pool, first, n, REQ_OP_WRITE);
}
