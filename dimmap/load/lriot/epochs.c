/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/lriot/epochs.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>

#define GOES_ON 1u

int epochs_make(struct epochs *e, uint64_t blocks, struct errbuf *err)
{
	e->block = calloc(blocks, sizeof(*e->block));
	return e->block ? 0
			: errprintf(err,
				    "--check: out of memory for the epochs of %" PRIu64 " blocks",
				    blocks);
}

void epochs_drop(struct epochs *e)
{
	free((void *)e->block);
	e->block = NULL;
}

void epochs_set(struct epochs *e, uint64_t block, uint32_t epoch)
{
	atomic_store(&e->block[block], epoch << 1);
}

uint32_t epochs_low(const struct epochs *e, uint64_t block)
{
	return atomic_load(&e->block[block]) >> 1;
}

uint32_t epochs_high(const struct epochs *e, uint64_t block)
{
	uint32_t now;

	atomic_thread_fence(memory_order_seq_cst); /* keep earlier reads of data before this load */
	now = atomic_load(&e->block[block]);
	return (now >> 1) + (now & GOES_ON);
}

uint32_t epochs_begin(struct epochs *e, uint64_t block)
{
	uint32_t now = atomic_load(&e->block[block]);

	for (;;) {
		if (now & GOES_ON) {
			/* give up the CPU: the writer of the block may be waiting for the disk */
			sched_yield();
			now = atomic_load(&e->block[block]);
		} else if (atomic_compare_exchange_weak(&e->block[block], &now, now | GOES_ON)) {
			/* the epoch is set before readers can see the new data */
			atomic_thread_fence(memory_order_seq_cst);
			return (now >> 1) + 1;
		}
	}
}

void epochs_end(struct epochs *e, uint64_t block)
{
	atomic_store(&e->block[block], ((atomic_load(&e->block[block]) >> 1) + 1) << 1);
}
