// SPDX-License-Identifier: GPL-2.0
/* Files of a mount: binds and releases a block device or a file of another filesystem. */
#include <linux/blkdev.h>
#include <linux/file.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/stat.h>

#include "dimmap.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

/* How long a device may take no page while no task waits for it, in jiffies. */
#define DIMMAP_PATIENCE (60 * HZ)

/* The kernel calls this when the device is being removed, or with SURPRISE when it is gone. */
static void dimmap_mark_dead(struct block_device *bdev, bool surprise)
{
	struct dimmap_file *file = bdev->bd_holder;
	bool live = refcount_inc_not_zero(&file->users), leaving;

	/* the caller has locked this mutex, and this function must unlock it */
	mutex_unlock(&bdev->bd_holder_lock);
	if (!live)
		return;
	mutex_lock(&file->life);
	leaving = file->leaving;	/* also true while the file is being bound */
	mutex_unlock(&file->life);
	/* an orderly removal: the device still works */
	if (!surprise && !leaving)
		dimmap_sync(file, 0, file->size, DIMMAP_PATIENCE);
	pr_warn("dimmapfs: %pg has gone\n", bdev);
	dimmap_file_shut(file);
	dimmap_file_put(file);
}

static const struct blk_holder_ops dimmap_holder_ops = { .mark_dead = dimmap_mark_dead };

static int dimmap_bind_device(struct dimmap_file *file, char *why, size_t size)
{
	dev_t dev = file_inode(file->backing)->i_rdev;
	blk_mode_t mode = BLK_OPEN_READ | (file->read_only ? 0 : BLK_OPEN_WRITE);

	file->bdev_file = bdev_file_open_by_dev(dev, mode, file, &dimmap_holder_ops);
	if (IS_ERR(file->bdev_file)) {
		int rc = PTR_ERR(file->bdev_file);

		file->bdev_file = NULL;
		snprintf(why, size, "device %u:%u cannot be opened (%pe)%s", MAJOR(dev), MINOR(dev),
			 ERR_PTR(rc), rc == -EBUSY ? ": it is mounted or otherwise in use" : "");
		return rc;
	}
	file->bdev = file_bdev(file->bdev_file);
	snprintf(file->name, sizeof(file->name), "%pg", file->bdev);
	file->size = bdev_nr_bytes(file->bdev);
	if (bdev_logical_block_size(file->bdev) > PAGE_SIZE) {
		snprintf(why, size, "%pg has blocks of %u bytes, at most %lu are possible",
			 file->bdev, bdev_logical_block_size(file->bdev), PAGE_SIZE);
		return -EINVAL;
	}
	sync_blockdev(file->bdev);
	invalidate_bdev(file->bdev);
	return 0;
}

/*
 * Records the sector of a page. A page that is adjacent to its predecessor on the device needs no
 * extent of its own.
 */
static int dimmap_add_extent(struct dimmap_file *file, pgoff_t index, sector_t sector)
{
	struct dimmap_extent *last = file->extent + file->extents - 1, *more;
	sector_t next = 0;

	if (file->extents)
		next = last->sector +
		       ((sector_t)(index - last->index) << (PAGE_SHIFT - SECTOR_SHIFT));
	if (file->extents && next == sector)
		return 0;
	/* the room is a power of two, so it is full if EXTENTS is one */
	if (!(file->extents & (file->extents - 1))) {
		u32 room = max(2 * file->extents, 1u);

		more = kvcalloc(room, sizeof(*more), GFP_KERNEL_ACCOUNT);
		if (!more)
			return -ENOMEM;
		if (file->extents)
			memcpy(more, file->extent, file->extents * sizeof(*more));
		kvfree(file->extent);
		file->extent = more;
	}
	file->extent[file->extents++] = (struct dimmap_extent){ index, sector };
	return 0;
}

static int dimmap_find_extents(struct dimmap_file *file, struct inode *inode, char *why,
			       size_t size)
{
	pgoff_t pages = DIV_ROUND_UP_ULL(file->size, PAGE_SIZE), i;
	int rc;

	for (i = 0; i < pages; i++) {
		sector_t block = i;

		rc = bmap(inode, &block);
		if (rc || !block) {
			snprintf(why, size,
				 "nothing is stored at byte %llu: write the file from end to end, unshared and uncompressed",
				 (u64)i << PAGE_SHIFT);
			return -EINVAL;
		}
		rc = dimmap_add_extent(file, i, block << (PAGE_SHIFT - SECTOR_SHIFT));
		if (rc)
			return rc;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/*
 * Returns whether the file allows direct I/O. ext4 does not allow it if it journals data. Then a
 * replay of the journal after a crash would undo writes by dimmapfs.
 */
static bool dimmap_is_direct(struct file *backing)
{
	struct kstat st;

	return vfs_getattr(&backing->f_path, &st, STATX_DIOALIGN, 0) ||
	       !(st.result_mask & STATX_DIOALIGN) || st.dio_offset_align;
}

/*
 * Binds a file. Its blocks are used without its filesystem, and are protected like those of a swap
 * file: the filesystem neither moves, shares nor frees them, and does not let programs write to the
 * file.
 */
static int dimmap_bind_file(struct dimmap_file *file, char *why, size_t size)
{
	struct inode *inode = file_inode(file->backing);
	unsigned long magic = inode->i_sb->s_magic;
	const char *wrong = NULL;
	int rc = -EINVAL;

	file->size = i_size_read(inode);
	file->bdev = inode->i_sb->s_bdev;
	if ((magic != EXT4_SUPER_MAGIC && magic != XFS_SUPER_MAGIC) || !file->bdev)
		wrong = "it is neither a block device nor a file of ext4 or XFS";
	else if (inode->i_blkbits != PAGE_SHIFT)
		wrong = "its filesystem does not have blocks of a page";
	else if (!file->size)
		wrong = "it is empty";
	else if (IS_ENCRYPTED(inode) || IS_VERITY(inode) || IS_DAX(inode))
		wrong = "files that are encrypted, or have fs-verity or DAX, are not possible";
	else if (!dimmap_is_direct(file->backing))
		wrong = "its filesystem allows no direct I/O: its data goes through the journal";
	if (wrong) {
		snprintf(why, size, "%s", wrong);
		return rc;
	}
	inode_lock(inode);
	if (IS_SWAPFILE(inode))
		wrong = "it is in use as swap, or by another mount of dimmapfs";
	else if (mapping_writably_mapped(inode->i_mapping))
		wrong = "a program has it mapped for writing";
	else
		inode->i_flags |= S_SWAPFILE;
	inode_unlock(inode);
	if (wrong) {
		snprintf(why, size, "%s", wrong);
		return -EBUSY;
	}
	file->extents = 0;
	file->swapfile = true;
	snprintf(file->name, sizeof(file->name), "%pg", file->bdev);
	/* an append-only file must not be written within its present size */
	if (IS_APPEND(inode))
		file->read_only = true;
	inode_dio_wait(inode);
	rc = vfs_fsync(file->backing, 0);
	if (!rc)
		rc = invalidate_inode_pages2(inode->i_mapping);
	if (rc)
		snprintf(why, size, "its pages cannot be written out (%pe)", ERR_PTR(rc));
	else
		rc = dimmap_find_extents(file, inode, why, size);
	return rc;
}

/*
 * Releases the bound source at once, without fput(): in a worker, fput() would queue it behind
 * other files of the system, and one of these may be on a device that does not answer.
 */
static void dimmap_unbind(struct dimmap_file *file)
{
	if (file->bdev_file) {
		invalidate_bdev(file->bdev);
		get_file(file->bdev_file);
		bdev_fput(file->bdev_file);
		__fput_sync(file->bdev_file);
	}
	if (file->swapfile) {
		struct inode *inode = file_inode(file->backing);

		/* pages in the page cache that others have read meanwhile are outdated */
		invalidate_inode_pages2(inode->i_mapping);
		inode_lock(inode);
		inode->i_flags &= ~S_SWAPFILE;
		inode_unlock(inode);
	}
	kvfree(file->extent);
	__fput_sync(file->backing);
}

/* Calls DROP for the pages of a shut file, and logs how many dirty pages are lost. */
static void dimmap_lose(struct dimmap_file *file, void (*drop)(struct dimmap_file *file))
{
	u64 lost = dimmap_sum(file->buffer, DIMMAP_LOST);

	drop(file);
	lost = dimmap_sum(file->buffer, DIMMAP_LOST) - lost;
	if (lost)
		pr_warn("dimmapfs: %llu pages could not be written to %s and are lost\n", lost,
			file->name);
}

/* Unbinds a shut file after the device has answered all requests. */
static void dimmap_file_unbind(struct work_struct *work)
{
	struct dimmap_file *file = container_of(work, struct dimmap_file, unbind_work);
	struct dimmap_buffer *buffer = file->buffer;

	/* a write that was in progress at the shutdown may have made a page dirty */
	dimmap_lose(file, dimmap_drop);
	/* waits for calls of dimmap_mark_dead(); only then may another file get the number */
	dimmap_unbind(file);
	mutex_lock(&buffer->files_lock);
	file->unbound = true;
	dimmap_buffer_give_back(buffer);
	mutex_unlock(&buffer->files_lock);
	complete_all(&file->gone);
	dimmap_file_put(file);
}

/*
 * Drops the reference to the device that a file holds until it is shut. The file may still be open.
 */
static void dimmap_release(struct dimmap_file *file)
{
	bool first;

	mutex_lock(&file->life);
	first = !file->leaving;
	file->leaving = true;
	mutex_unlock(&file->life);
	if (first)
		dimmap_file_unbound(file);
}

static void dimmap_file_free(struct work_struct *work)
{
	struct dimmap_file *file = container_of(work, struct dimmap_file, free_work);
	struct dimmap_buffer *buffer = file->buffer;

	mutex_lock(&buffer->files_lock);
	buffer->file[file->id] = NULL;
	mutex_unlock(&buffer->files_lock);
	kfree(file);
	dimmap_buffer_put(buffer);
}

static void dimmap_file_sync(struct work_struct *work)
{
	struct dimmap_file *file = container_of(work, struct dimmap_file, sync_work);

	file->answers = dimmap_sync(file, 0, file->size, DIMMAP_PATIENCE) != -ETIMEDOUT;
	complete(&file->synced);
	dimmap_file_put(file);
}

/**
 * dimmap_file_leave - ends the use of a file when its inode is evicted
 * @file: neither open nor mapped
 *
 * Writes dirty pages, but gives them up when the device takes nothing for a minute. Pages at a
 * device that does not answer keep their memory until it does.
 */
void dimmap_file_leave(struct dimmap_file *file)
{
	if (!READ_ONCE(file->shut)) {
		/*
		 * a worker syncs: this task may have a fatal signal, with which its waits would end
		 * at once
		 */
		refcount_inc(&file->users);
		WRITE_ONCE(file->moved, jiffies);
		queue_work(dimmap_wq, &file->sync_work);
		while (!wait_for_completion_timeout(&file->synced, HZ) &&
		       time_before(jiffies, READ_ONCE(file->moved) + DIMMAP_PATIENCE + 2 * HZ))
			;
		if (!READ_ONCE(file->answers))
			pr_warn("dimmapfs: %s does not answer: what is on its way to it may be lost\n",
				file->name);
	}
	mutex_lock(&file->life);
	WRITE_ONCE(file->inode, NULL);
	mutex_unlock(&file->life);
	dimmap_leave(file);
	WRITE_ONCE(file->shut, true);
	dimmap_lose(file, dimmap_give_up);
	dimmap_release(file);
	dimmap_file_put(file);
}

/**
 * dimmap_file_shut - makes all later accesses to a file fail
 * @file: its device is gone, or its mount is shut down; dirty pages are lost
 *
 * The device and the file's pages are given back as soon as the device has answered.
 */
void dimmap_file_shut(struct dimmap_file *file)
{
	WRITE_ONCE(file->shut, true);
	smp_mb();	/* a later dimmap_map_use() sees it */
	mutex_lock(&file->life);
	if (file->inode)
		unmap_mapping_range(file->inode->i_mapping, 0, 0, true);
	mutex_unlock(&file->life);
	dimmap_lose(file, dimmap_give_up);
	dimmap_release(file);
}

/**
 * dimmap_file_bind - prepares a file of a buffer
 * @buffer: the buffer of the mount
 * @backing: the source; the task that opened it has access to all of it
 * @read_only: even if @backing was opened for writing
 * @why: receives the reason of a failure
 * @size: bytes of @why
 *
 * Return: the file, with two references: the caller's, and one of the bound source until the file
 * is shut; or an error, with nothing kept.
 */
struct dimmap_file *dimmap_file_bind(struct dimmap_buffer *buffer, struct file *backing,
				     bool read_only, char *why, size_t size)
{
	struct dimmap_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	umode_t mode = file_inode(backing)->i_mode;
	int rc = -EINVAL;
	u32 id;

	snprintf(why, size, "no memory");
	if (!file)
		return ERR_PTR(-ENOMEM);
	file->buffer = buffer;
	file->backing = get_file(backing);
	file->read_only = read_only || !(backing->f_mode & FMODE_WRITE);
	refcount_set(&file->users, 1);
	refcount_set(&file->bound, 1);
	file->leaving = true;
	mutex_init(&file->life);
	file->id = DIMMAP_MAX_FILES;	/* no page has this number yet */
	INIT_WORK(&file->free_work, dimmap_file_free);
	INIT_WORK(&file->sync_work, dimmap_file_sync);
	INIT_WORK(&file->unbind_work, dimmap_file_unbind);
	init_completion(&file->synced);
	init_completion(&file->gone);

	snprintf(why, size, "it is not open for reading, or neither a block device nor a file");
	if (backing->f_mode & FMODE_READ)
		rc = S_ISBLK(mode) ? dimmap_bind_device(file, why, size) :
		     S_ISREG(mode) ? dimmap_bind_file(file, why, size) : -EINVAL;
	if (!rc) {
		mutex_lock(&buffer->files_lock);
		for (id = 0; id < DIMMAP_MAX_FILES && buffer->file[id]; id++)
			;
		if (buffer->shut) {
			snprintf(why, size, "the mount has been shut down");
			rc = -EIO;
		} else if (id < DIMMAP_MAX_FILES) {
			file->id = id;
			buffer->file[id] = file;
		} else {
			snprintf(why, size, "a mount has %d files at most", DIMMAP_MAX_FILES);
			rc = -ENOSPC;
		}
		mutex_unlock(&buffer->files_lock);
	}
	if (rc) {
		dimmap_unbind(file);
		/* of dimmap_mark_dead() */
		while (refcount_read(&file->users) > 1)
			schedule_timeout_uninterruptible(1);
		kfree(file);
		return ERR_PTR(rc);
	}
	refcount_inc(&buffer->users);
	/*
	 * from here on, another task may release the source, since the device may be gone already
	 */
	refcount_inc(&file->users);
	mutex_lock(&file->life);
	file->leaving = false;
	mutex_unlock(&file->life);
	if (READ_ONCE(file->shut))
		dimmap_release(file);
	return file;
}
