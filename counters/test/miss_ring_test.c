/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of perf_event_open(2), written by hand after include/uapi/linux/perf_event.h. */
#include "counters/miss_ring.h"

#include <linux/perf_event.h>

#include "base/test/tap.h"

#define SIZE 256u
#define USER UINT64_C(0x7f0012345678)
/* data sources: "not available", memory of this node, memory of another, L2, L3 (bits 5 to 18) */
#define NOT_KNOWN (UINT64_C(0x01) << 5)
#define LOCAL (UINT64_C(0x82) << 5)
#define REMOTE (UINT64_C(0x102) << 5)
#define L2 (UINT64_C(0x22) << 5)
#define L3 (UINT64_C(0x42) << 5)

static unsigned char ring[SIZE];
static uint64_t head;
static struct miss found[8];
static struct miss_list list;

static void put(const void *from, size_t len)
{
	for (size_t i = 0; i < len; i++)
		ring[head++ % SIZE] = ((const unsigned char *)from)[i];
}

static void put_head(uint32_t type, uint16_t size)
{
	put(&type, 4);
	put(&(uint16_t){ 0 }, 2);
	put(&size, 2);
}

static void put_sample(uint32_t pid, uint64_t address, uint64_t source)
{
	put_head(9, 32);
	put(&pid, 4);
	put(&(uint32_t){ 77 }, 4);
	put(&address, 8);
	put(&source, 8);
}

static void put_lost(uint64_t n)
{
	put_head(2, 24);
	put(&(uint64_t){ 5 }, 8);
	put(&n, 8);
}

static void begin(uint64_t at, unsigned max)
{
	head = at;
	list = (struct miss_list){ .miss = found, .max = max };
	memset(found, 0, sizeof(found));
}

static int take(uint64_t tail, struct errbuf *err)
{
	return miss_ring_read(&list, ring, SIZE, tail, head, err);
}

static void test_samples(void)
{
	struct errbuf err = { 0 };

	begin(0, 8);
	ok(take(0, &err) == 0 && !list.n, "an empty ring has no misses");
	put_sample(12, USER, LOCAL);
	put_sample(13, USER + 64, REMOTE);
	put_sample(12, 64, NOT_KNOWN);
	ok(take(0, &err) == 0 && list.n == 3, "three samples are three misses");
	ok(found[0].pid == 12 && found[0].address == USER && found[1].pid == 13 &&
		   found[1].address == USER + 64 && found[2].address == 64,
	   "a miss has its process and its address");
	begin(SIZE * 1000 + 240, 8);
	put_sample(12, USER, LOCAL);
	put_sample(14, USER + 128, LOCAL);
	ok(take(SIZE * 1000 + 240, &err) == 0 && list.n == 2 && found[0].address == USER &&
		   found[1].pid == 14,
	   "a sample may cross the end of the ring");
}

static void test_left_out(void)
{
	struct errbuf err = { 0 };

	begin(8, 8);
	put_sample(12, 0, LOCAL);
	put_sample(12, UINT64_C(1) << 63, LOCAL);
	put_sample(0, USER, LOCAL);
	put_sample(UINT32_MAX, USER, LOCAL);
	put_sample(12, USER, L2);
	put_sample(12, USER, L3);
	ok(take(8, &err) == 0 && !list.n && !list.lost,
	   "samples without address or process, of the kernel, or answered by L2 or L3 are left "
	   "out");
	begin(0, 8);
	put_head(5, 16); /* PERF_RECORD_THROTTLE, cut short */
	put(&(uint64_t){ 0 }, 8);
	put_head(9, 8); /* a sample without a body */
	put_sample(12, USER, LOCAL);
	ok(take(0, &err) == 0 && list.n == 1, "records that are no samples are skipped");
}

static void test_lost(void)
{
	struct errbuf err = { 0 };

	begin(0, 1);
	put_lost(40);
	put_sample(12, USER, LOCAL);
	put_sample(12, USER, LOCAL);
	ok(take(0, &err) == 0 && list.n == 1 && list.lost == 41,
	   "LOST counts samples for which the ring or the list had no room");
	begin(0, 1);
	put_lost(UINT64_MAX - 1);
	put_lost(7);
	ok(take(0, &err) == 0 && list.lost == UINT64_MAX, "LOST does not wrap");
}

static void test_invalid(void)
{
	static const uint16_t sizes[] = { 0, 7, 48, 65535 };
	struct errbuf err = { 0 };

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		begin(0, 8);
		put_sample(12, USER, LOCAL);
		put_head(9, sizes[i]);
		put(ring, 24);
		ok(take(0, &err) < 0 && list.n == 1 && *err.text,
		   "a record of %u bytes is refused if 32 bytes are left: %s", sizes[i], err.text);
	}
	begin(0, 8);
	put_sample(12, USER, LOCAL);
	head -= 28;
	ok(take(0, &err) < 0 && !list.n, "a record of four bytes is refused: %s", err.text);
	head = SIZE + 8;
	ok(take(0, &err) < 0 && !list.n, "more bytes than the ring has are refused: %s", err.text);
	head = 0;
	ok(take(8, &err) < 0 && !list.n, "a head before the tail is refused: %s", err.text);
}

int main(void)
{
	test_samples();
	test_left_out();
	test_lost();
	test_invalid();
	return tap_done();
}
