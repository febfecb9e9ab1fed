/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer target: any bytes as a ring of records. The first two bytes are the tail; the others
 * fill the ring up to the head. Each miss must have a user's process and an address of the user's
 * half.
 */
#include <string.h>

#include "base/test/fuzz.h"
#include "counters/miss_ring.h"

#define SIZE 4096u
#define MOST 32u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct miss found[MOST];
	struct miss_list list = { .miss = found, .max = MOST };
	struct errbuf err = { 0 };
	uint64_t tail, head;
	char *ring;

	if (size < 2)
		return 0;
	tail = (uint64_t)data[0] << 8 | data[1];
	head = tail + (size - 2) % (SIZE + 9);
	ring = calloc(1, SIZE);
	check(ring != NULL);
	for (uint64_t at = tail; at < head; at++)
		ring[at % SIZE] = (char)data[2 + (at - tail)];
	if (miss_ring_read(&list, ring, SIZE, tail, head, &err) < 0)
		check_refusal(&err);
	check(list.n <= MOST);
	for (unsigned i = 0; i < list.n; i++)
		check(list.miss[i].pid > 0 && list.miss[i].address &&
		      list.miss[i].address >> 63 == 0);
	free(ring);
	return 0;
}
