/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/lriot/epochs.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#define GOES_ON 1u
#define FAILED 2u

int epochs_make(struct epochs *e, uint64_t blocks, struct errbuf *err)
{
	void *at = mmap(NULL, blocks * sizeof(*e->block), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return errprintf(err, "--verify: no memory to note %" PRIu64 " blocks: %s", blocks,
				 strerror(errno));
	e->block = at;
	e->n = blocks;
	return 0;
}

void epochs_drop(struct epochs *e)
{
	if (e->block)
		munmap((void *)e->block, e->n * sizeof(*e->block));
	e->block = NULL;
}

void epochs_set(struct epochs *e, uint64_t block, uint32_t epoch)
{
	atomic_store(&e->block[block], epoch << 2);
}

uint32_t epochs_low(const struct epochs *e, uint64_t block)
{
	return atomic_load(&e->block[block]) >> 2;
}

uint32_t epochs_high(const struct epochs *e, uint64_t block)
{
	uint32_t now;

	atomic_thread_fence(memory_order_seq_cst); /* what was read before is older */
	now = atomic_load(&e->block[block]);
	return (now >> 2) + ((now & (GOES_ON | FAILED)) != 0);
}

uint32_t epochs_begin(struct epochs *e, uint64_t block)
{
	uint32_t now = atomic_load(&e->block[block]);

	for (;;) {
		if (now & GOES_ON) {
			sched_yield(); /* its writer may wait for the disk */
			now = atomic_load(&e->block[block]);
		} else if (atomic_compare_exchange_weak(&e->block[block], &now, now | GOES_ON)) {
			/* told before it can be seen */
			atomic_thread_fence(memory_order_seq_cst);
			return (now >> 2) + 1;
		}
	}
}

void epochs_end(struct epochs *e, uint64_t block, bool done)
{
	uint32_t epoch = atomic_load(&e->block[block]) >> 2;

	atomic_store(&e->block[block], done ? (epoch + 1) << 2 : epoch << 2 | FAILED);
}
