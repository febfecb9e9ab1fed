/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/lriot/stamp.h"

#include "dimmap/load/random.h"

#define ALWAYS UINT64_C(0xd1aa)

static uint64_t stamp_place(uint64_t offset)
{
	return random_mix(offset / 8 + 0x6c72696f74); /* mix(0) is 0, which a hole in a file has,
							 too */
}

uint64_t stamp_make(uint64_t offset, uint32_t epoch, unsigned writer)
{
	return stamp_place(offset) ^ (ALWAYS << 48 | (uint64_t)(writer & 0xffff) << 32 | epoch);
}

bool stamp_read(uint64_t offset, uint64_t word, uint32_t *epoch, unsigned *writer)
{
	uint64_t plain = word ^ stamp_place(offset);

	*epoch = (uint32_t)plain;
	*writer = (unsigned)(plain >> 32) & 0xffff;
	return plain >> 48 == ALWAYS;
}

void stamp_fill(uint64_t *words, uint64_t offset, size_t bytes, uint32_t epoch, unsigned writer)
{
	for (size_t i = 0; i < bytes / 8; i++)
		words[i] = stamp_make(offset + 8 * i, epoch, writer);
}
