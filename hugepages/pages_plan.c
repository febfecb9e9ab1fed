/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hugepages/pages_plan.h"

#include <inttypes.h>
#include <stdlib.h>

#define PAGE_2M (UINT64_C(2) << 20)
#define PAGE_1G (UINT64_C(1) << 30)
/* from this size on, rounding down to 1 GiB loses less than a fifth */
#define SHARE_OF_1G (UINT64_C(4) << 30)

uint64_t pages_room(const struct pages_node *node, unsigned n, uint64_t page)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += node[i].room / page;
	return sum;
}

uint64_t pages_share(const struct pages_node *node, unsigned n, unsigned ranks, uint64_t most)
{
	uint64_t room = pages_room(node, n, PAGE_2M) * PAGE_2M;
	uint64_t bytes = (room < most ? room : most) / ranks / 4 * 3;

	return bytes - bytes % (bytes >= SHARE_OF_1G ? PAGE_1G : PAGE_2M);
}

/*
 * Give RANK its pages, node I having LEFT[I] pages, and update LEFT. Returns the number of pieces.
 */
static int plan_rank(struct pages_piece *out, uint64_t *left, unsigned n, unsigned rank,
		     const struct pages_ask *ask)
{
	unsigned first = (unsigned)((uint64_t)rank * n / ask->ranks);
	uint64_t need = ask->pages;
	int pieces = 0;

	for (unsigned k = 0; k < n && need; k++) {
		unsigned i = (first + k) % n;
		uint64_t take = left[i] < need ? left[i] : need;

		if (!take)
			continue;
		out[pieces++] = (struct pages_piece){ rank, i, take };
		left[i] -= take;
		need -= take;
	}
	return pieces;
}

int pages_plan(struct pages_piece *out, const struct pages_node *node, unsigned n,
	       const struct pages_ask *ask, struct errbuf *err)
{
	uint64_t have = pages_room(node, n, ask->page), *left;
	int pieces = 0;

	if (have / ask->ranks < ask->pages)
		return errprintf(err,
				 "%u extents of %" PRIu64 " MiB do not fit in the free memory, "
				 "which has room for %" PRIu64 " huge pages of %" PRIu64
				 " MiB: ask for smaller extents",
				 ask->ranks, ask->pages * (ask->page >> 20), have, ask->page >> 20);
	left = calloc(n, sizeof(*left));
	if (!left)
		return errprintf(err, "out of memory");
	for (unsigned i = 0; i < n; i++)
		left[i] = node[i].room / ask->page;
	for (unsigned rank = 0; rank < ask->ranks; rank++)
		pieces += plan_rank(out + pieces, left, n, rank, ask);
	free(left);
	return pieces;
}
