/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/lriot/stamp.h"

#include <inttypes.h>
#include <stdio.h>

#include "dimmap/load/random.h"
#include "dimmap/load/trace.h"

#define ALWAYS UINT64_C(0xd1aa)

static uint64_t stamp_place(uint64_t offset)
{
	/* OFFSET + a constant, since mix(0) is 0, which is also the contents of a hole */
	return random_mix(offset / 8 + 0x6c72696f74);
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

bool stamps_wrong(const uint64_t *words, uint64_t offset, size_t bytes, uint32_t low, uint32_t high,
		  struct finding *out)
{
	uint32_t epoch;
	unsigned writer;

	for (size_t i = 0; i < bytes / 8; i++)
		if (!stamp_read(offset + 8 * i, words[i], &epoch, &writer) || epoch < low ||
		    epoch > high) {
			*out = (struct finding){ offset + 8 * i, words[i], low, high };
			return true;
		}
	return false;
}

void findings_add(struct findings *f, const struct finding *one)
{
	uint64_t slot = atomic_fetch_add(&f->n, 1);

	if (slot < FINDINGS_KEPT)
		f->first[slot] = *one;
}

const char *finding_text(char buf[FINDING_TEXT], const struct finding *one)
{
	char wanted[64], found[64];
	uint32_t epoch;
	unsigned writer;

	if (one->low == one->high)
		snprintf(wanted, sizeof(wanted), "epoch %" PRIu32, one->low);
	else
		snprintf(wanted, sizeof(wanted), "epoch %" PRIu32 " to %" PRIu32, one->low,
			 one->high);
	if (stamp_read(one->offset, one->word, &epoch, &writer))
		snprintf(found, sizeof(found), "epoch %" PRIu32 " by thread %u", epoch, writer);
	else
		snprintf(found, sizeof(found), "no stamp of this place");
	snprintf(buf, FINDING_TEXT,
		 "page %" PRIu64 ", byte %" PRIu64 ": expected %s, found %s (0x%016" PRIx64 ")",
		 one->offset / TRACE_PAGE, one->offset, wanted, found, one->word);
	return buf;
}
