// SPDX-License-Identifier: GPL-2.0
/*
 * read() and write(), on the same pages as mappings. They copy through a page of their own, because
 * no fault may occur between dimmap_page_get() and dimmap_page_put(), and the program's memory may
 * be a mapping of the same file.
 */
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/uio.h>

#include "dimmap.h"

/* Copies the part of a read that is in one page. Returns the number of bytes, or an error. */
static ssize_t dimmap_read_page(struct dimmap_file *file, loff_t pos, size_t length,
				struct page *own, struct iov_iter *to)
{
	size_t offset = offset_in_page(pos), n = min_t(size_t, length, PAGE_SIZE - offset);
	struct dimmap_use use;
	int rc;

	rc = dimmap_page_get(file, pos >> PAGE_SHIFT, 0, &use);
	if (rc)
		return rc;
	memcpy_page(own, 0, use.page, offset, n);
	dimmap_page_put(&use);
	return copy_page_to_iter(own, 0, n, to) ?: -EFAULT;
}

static ssize_t dimmap_write_page(struct dimmap_file *file, loff_t pos, size_t length,
				 struct page *own, struct iov_iter *from)
{
	size_t offset = offset_in_page(pos), n = min_t(size_t, length, PAGE_SIZE - offset);
	unsigned int how = DIMMAP_GET_WRITE;
	struct dimmap_use use;
	int rc;

	n = copy_page_from_iter(own, 0, n, from);
	if (!n)
		return -EFAULT;
	if (n == PAGE_SIZE)
		how |= DIMMAP_GET_WHOLE;
	rc = dimmap_page_get(file, pos >> PAGE_SHIFT, how, &use);
	if (rc) {
		iov_iter_revert(from, n);
		return rc;
	}
	memcpy_page(use.page, offset, own, 0, n);
	dimmap_page_put(&use);
	return n;
}

static ssize_t dimmap_each_page(struct kiocb *iocb, struct iov_iter *iter,
				ssize_t (*one)(struct dimmap_file *file, loff_t pos, size_t length,
					       struct page *own, struct iov_iter *iter))
{
	struct dimmap_file *file = dimmap_file_of(file_inode(iocb->ki_filp));
	ssize_t done = 0, n = 0;
	struct page *own;

	own = alloc_page(GFP_KERNEL);
	if (!own)
		return -ENOMEM;
	while (iov_iter_count(iter) && iocb->ki_pos < file->size) {
		loff_t left = file->size - iocb->ki_pos;

		n = one(file, iocb->ki_pos, min_t(loff_t, iov_iter_count(iter), left), own, iter);
		if (n < 0)
			break;
		iocb->ki_pos += n;
		done += n;
		cond_resched();
	}
	__free_page(own);
	if (n == -EINTR && !done)
		return -EINTR;
	return done ?: n;
}

ssize_t dimmap_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	/* no IOCB_NOWAIT: any read may wait for a device */
	if (iocb->ki_flags & IOCB_NOWAIT)
		return -EAGAIN;
	return dimmap_each_page(iocb, to, dimmap_read_page);
}

ssize_t dimmap_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	struct dimmap_file *file = dimmap_file_of(file_inode(iocb->ki_filp));
	ssize_t n, rc;

	if (iocb->ki_flags & IOCB_NOWAIT)
		return -EAGAIN;
	if (!iov_iter_count(from))
		return 0;
	/* a file cannot grow */
	if (iocb->ki_flags & IOCB_APPEND || iocb->ki_pos >= file->size)
		return -ENOSPC;
	rc = file_update_time(iocb->ki_filp);
	if (rc)
		return rc;
	n = dimmap_each_page(iocb, from, dimmap_write_page);
	if (n > 0 && iocb_is_dsync(iocb)) {
		rc = generic_write_sync(iocb, n);
		return rc;
	}
	return n;
}
