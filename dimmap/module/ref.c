// SPDX-License-Identifier: GPL-2.0
/* The names of pages, and who counts on a file: what goes when nobody does is in file.c. */
#include "dimmap.h"

u64 dimmap_key(const struct dimmap_file *file, pgoff_t index)
{
	return (u64)file->id << 48 | index;
}

/* Pages of a window are in the same pool. */
struct dimmap_lock_pool *dimmap_pool_of(struct dimmap_buffer *buffer, u64 key)
{
	u64 window = (key & ~0ull << 48) | dimmap_index(key) / DIMMAP_WINDOW;

	return &buffer->pool[(dimmap_hash(window) >> 32) * buffer->pools >> 32];
}

/**
 * dimmap_file_unbound - one less who needs the device of a file
 * @file: gives it back, in a while, with the last; any context
 */
void dimmap_file_unbound(struct dimmap_file *file)
{
	if (refcount_dec_and_test(&file->bound))
		queue_work(dimmap_wq, &file->unbind_work);
}

/**
 * dimmap_file_put_many - so many users less
 * @file: goes, in a while, with the last; any context
 * @n: of them
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
