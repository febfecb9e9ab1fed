// SPDX-License-Identifier: GPL-2.0
/* Keys of pages, and references to a file. A file without references is freed in file.c. */
#include "dimmap.h"

u64 dimmap_key(const struct dimmap_file *file, pgoff_t index)
{
	return (u64)file->id << 48 | index;
}

/* Returns the pool of a key. All pages of a window are in the same pool. */
struct dimmap_lock_pool *dimmap_pool_of(struct dimmap_buffer *buffer, u64 key)
{
	u64 window = (key & ~0ull << 48) | dimmap_index(key) / DIMMAP_WINDOW;

	return &buffer->pool[(dimmap_hash(window) >> 32) * buffer->pools >> 32];
}

/**
 * dimmap_file_unbound - drops a reference to a file's device
 * @file: the last reference gives the device back, asynchronously; any context
 */
void dimmap_file_unbound(struct dimmap_file *file)
{
	if (refcount_dec_and_test(&file->bound))
		queue_work(dimmap_wq, &file->unbind_work);
}

/**
 * dimmap_file_put_many - drops references to a file
 * @file: the last reference frees it, asynchronously; any context
 * @n: number of references
 */
void dimmap_file_put_many(struct dimmap_file *file, u32 n)
{
	if (refcount_sub_and_test(n, &file->users))
		queue_work(dimmap_wq, &file->free_work);
}

void dimmap_file_put(struct dimmap_file *file)
{
	dimmap_file_put_many(file, 1);
}
