// SPDX-License-Identifier: GPL-2.0
/* The memory of a buffer and its division into pools. */
#include <linux/bio.h>
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "dimmap.h"

/* A failed allocation is an error of the mount: it must not start the OOM killer. */
#define DIMMAP_GFP (GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL)

/* A list of allocations, each of 2^order pages. */
struct dimmap_chunks {
	struct dimmap_chunks *next;
	u32 n;
	struct dimmap_chunk {
		struct page *page;
		unsigned int order;
	} chunk[250];
};

/**
 * dimmap_sum - sums a statistic over all pools
 * @buffer: the buffer of the pools
 * @stat: the statistic
 */
u64 dimmap_sum(struct dimmap_buffer *buffer, enum dimmap_stat stat)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < buffer->pools; i++)
		sum += READ_ONCE(buffer->pool[i].stat[stat]);
	return sum;
}

/*
 * Returns the number of pools. Without pools=, a buffer has a pool for each CPU, as long as a pool
 * has 2 MiB, or a pool for each whole 64 MiB if these are more. The pages that one instruction
 * needs at once must fit into a pool.
 */
static u32 dimmap_pools(const struct dimmap_options *opt, u32 pages)
{
	u32 pools = min(num_online_cpus(), pages / 512);

	if (opt->pools)
		return min(opt->pools, max(pages / 16, 1u));
	return max3(pools, pages / 16384, 1u);
}

static void dimmap_free_pages(struct dimmap_buffer *buffer)
{
	u32 i;

	while (buffer->chunks) {
		struct dimmap_chunks *chunks = buffer->chunks;

		while (chunks->n--)
			for (i = 0; i < 1u << chunks->chunk[chunks->n].order; i++)
				__free_page(chunks->chunk[chunks->n].page + i);
		buffer->chunks = chunks->next;
		kfree(chunks);
		cond_resched();
	}
}

/**
 * dimmap_buffer_give_back - frees the pages of a buffer once it and all its files are shut
 * @buffer: its files_lock is held
 */
void dimmap_buffer_give_back(struct dimmap_buffer *buffer)
{
	u32 i;

	lockdep_assert_held(&buffer->files_lock);
	if (!buffer->shut)
		return;
	for (i = 0; i < DIMMAP_MAX_FILES; i++)
		if (buffer->file[i] && !buffer->file[i]->unbound)
			return;
	dimmap_free_pages(buffer);
}

static void dimmap_buffer_free(struct dimmap_buffer *buffer)
{
	u32 i;

	dimmap_writer_stop(buffer);
	for (i = 0; buffer->pool && i < buffer->pools; i++) {
		kvfree(buffer->pool[i].picked);
		kvfree(buffer->pool[i].pick);
		kvfree(buffer->pool[i].page);
		kvfree(buffer->pool[i].memory);
		kvfree(buffer->pool[i].frame);
	}
	kvfree(buffer->pool);
	dimmap_free_pages(buffer);
	kvfree(buffer->pick);
	kvfree(buffer->pick_page);
	bioset_exit(&buffer->bios);
	kfree(buffer->opt.src);
	kfree(buffer);
}

void dimmap_end_put(struct dimmap_end *end)
{
	if (refcount_dec_and_test(&end->users))
		kfree(end);
}

static void dimmap_buffer_free_work(struct work_struct *work)
{
	struct dimmap_buffer *buffer = container_of(work, struct dimmap_buffer, free_work);
	struct dimmap_end *end = buffer->end;

	dimmap_buffer_free(buffer);
	complete(&end->done);
	dimmap_end_put(end);
	module_put(THIS_MODULE);
}

/**
 * dimmap_buffer_put - drops a reference
 * @buffer: the last reference frees it, asynchronously, maybe after a slow device; any context
 */
void dimmap_buffer_put(struct dimmap_buffer *buffer)
{
	if (refcount_dec_and_test(&buffer->users))
		queue_work(dimmap_wq, &buffer->free_work);
}

/*
 * Allocates all memory, from the nodes in turn. The mounting task is charged for it: a buffer that
 * exceeds the limit of the task's memory cgroup fails as a whole. Pages are not cleared: a read
 * from the device fills them before a program sees them.
 */
static int dimmap_take(struct dimmap_buffer *buffer, char *why, size_t size)
{
	gfp_t gfp = DIMMAP_GFP | __GFP_THISNODE;
	u32 left = buffer->pages;
	int node = MAX_NUMNODES;
	unsigned long has = 0;

	for_each_node_mask(node, buffer->opt.nodes)
		has += node_present_pages(node);
	if (has < left) {
		snprintf(why, size, "nodes %*pbl have %lu MiB, %llu are asked for",
			 nodemask_pr_args(&buffer->opt.nodes), has >> (20 - PAGE_SHIFT),
			 buffer->opt.size >> 20);
		return -ENOMEM;
	}
	/* pieces of 2 MiB where possible, else single pages */
	while (left) {
		struct dimmap_chunks *chunks = buffer->chunks;
		unsigned int order = left >= 512 ? 9 : 0;
		struct page *page = NULL;
		int tries;

		if (!chunks || chunks->n == ARRAY_SIZE(chunks->chunk)) {
			chunks = kzalloc(sizeof(*chunks), DIMMAP_GFP);
			if (!chunks)
				return -ENOMEM;
			chunks->next = buffer->chunks;
			buffer->chunks = chunks;
		}
		/* if a node is full, try the others */
		for (tries = nodes_weight(buffer->opt.nodes); !page && tries; tries--) {
			node = next_node_in(node, buffer->opt.nodes);
			page = alloc_pages_node(node, gfp, order);
			if (!page && order) {
				page = alloc_pages_node(node, gfp, 0);
				order = page ? 0 : order;
			}
		}
		if (!page) {
			snprintf(why, size,
				 "no memory for %llu MiB on nodes %*pbl: %llu MiB were available, within the cgroup's limit",
				 buffer->opt.size >> 20, nodemask_pr_args(&buffer->opt.nodes),
				 (u64)(buffer->pages - left) >> (20 - PAGE_SHIFT));
			return -ENOMEM;
		}
		/* split: some drivers below a device take references to single pages */
		if (order)
			split_page(page, order);
		chunks->chunk[chunks->n++] = (struct dimmap_chunk){ page, order };
		left -= 1u << order;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/* Distributes the pages over the pools one by one, so that each pool has pages of every node. */
static void dimmap_divide(struct dimmap_buffer *buffer)
{
	const struct dimmap_chunks *chunks;
	u32 i, k, n = 0;

	for (chunks = buffer->chunks; chunks; chunks = chunks->next)
		for (i = 0; i < chunks->n; i++)
			for (k = 0; k < 1u << chunks->chunk[i].order; k++, n++)
				buffer->pool[n % buffer->pools].frame[n / buffer->pools].page =
					chunks->chunk[i].page + k;
}

static int dimmap_pool_new(struct dimmap_buffer *buffer, struct dimmap_lock_pool *pool, u32 pages)
{
	u32 i;

	pool->memory = kvzalloc(dimmap_pool_size(buffer->opt.policy, pages), DIMMAP_GFP);
	pool->frame = kvcalloc(pages, sizeof(*pool->frame), DIMMAP_GFP);
	pool->batch = clamp(buffer->opt.batch, 1u, max(pages / 4, 1u));
	pool->picked = kvcalloc(pool->batch, sizeof(*pool->picked), DIMMAP_GFP);
	pool->pick = kvcalloc(pool->batch, sizeof(*pool->pick), DIMMAP_GFP);
	pool->page = kvcalloc(pool->batch, sizeof(*pool->page), DIMMAP_GFP);
	if (!pool->memory || !pool->frame || !pool->picked || !pool->pick || !pool->page)
		return -ENOMEM;
	spin_lock_init(&pool->lock);
	init_waitqueue_head(&pool->wait);
	init_waitqueue_head(&pool->room);
	INIT_LIST_HEAD(&pool->dirty);
	INIT_LIST_HEAD(&pool->writing);
	for (i = 0; i < pages; i++)
		INIT_LIST_HEAD(&pool->frame[i].dirty);
	dimmap_pool_init(&pool->pool, pool->memory, buffer->opt.policy, pages);
	return 0;
}

/**
 * dimmap_buffer_new - allocates a buffer with its memory
 * @opt: its options; on success the buffer owns src
 * @sb: its mount
 * @why: receives the reason of a failure
 * @size: bytes of @why
 *
 * Return: the buffer, with one reference; or an error, with nothing kept.
 */
struct dimmap_buffer *dimmap_buffer_new(const struct dimmap_options *opt, struct super_block *sb,
					char *why, size_t size)
{
	struct dimmap_buffer *buffer = kzalloc(sizeof(*buffer), DIMMAP_GFP);
	u32 i;
	int rc;

	snprintf(why, size, "no memory");
	if (!buffer)
		return ERR_PTR(-ENOMEM);
	buffer->end = kzalloc(sizeof(*buffer->end), DIMMAP_GFP);
	if (!buffer->end) {
		kfree(buffer);
		return ERR_PTR(-ENOMEM);
	}
	refcount_set(&buffer->end->users, 1);
	init_completion(&buffer->end->done);
	buffer->opt = *opt;
	buffer->opt.src = NULL;
	buffer->sb = sb;
	buffer->dev = sb->s_dev;
	buffer->pages = opt->size >> PAGE_SHIFT;
	buffer->pools = dimmap_pools(opt, buffer->pages);
	/* one read takes at most a fourth of a pool */
	buffer->window = max(buffer->pages / buffer->pools / 4, 1u);
	buffer->window = rounddown_pow_of_two(min(opt->fill, buffer->window));
	refcount_set(&buffer->users, 1);
	INIT_WORK(&buffer->free_work, dimmap_buffer_free_work);
	mutex_init(&buffer->files_lock);
	mutex_init(&buffer->write_lock);
	init_waitqueue_head(&buffer->dirty_wait);
	init_waitqueue_head(&buffer->writer_wait);
	rc = bioset_init(&buffer->bios, 64, dimmap_io_front(), BIOSET_NEED_BVECS);
	if (!rc)
		rc = dimmap_take(buffer, why, size);
	buffer->pool = kvcalloc(buffer->pools, sizeof(*buffer->pool), DIMMAP_GFP);
	buffer->pick = kvcalloc(DIMMAP_MAX_BATCH, sizeof(*buffer->pick), DIMMAP_GFP);
	buffer->pick_page = kvcalloc(DIMMAP_MAX_BATCH, sizeof(*buffer->pick_page),
				     DIMMAP_GFP);
	if (!rc && (!buffer->pool || !buffer->pick || !buffer->pick_page))
		rc = -ENOMEM;
	for (i = 0; !rc && i < buffer->pools; i++)
		rc = dimmap_pool_new(buffer, &buffer->pool[i],
				     buffer->pages / buffer->pools +
				     (i < buffer->pages % buffer->pools));
	if (!rc) {
		dimmap_divide(buffer);
		rc = dimmap_writer_start(buffer);
	}
	if (rc) {
		kfree(buffer->end);
		dimmap_buffer_free(buffer);
		return ERR_PTR(rc);
	}
	buffer->opt.src = opt->src;
	__module_get(THIS_MODULE);
	return buffer;
}
