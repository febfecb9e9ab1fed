/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of lriot's check: stamps, the epochs of blocks, the text about a wrong word. Also tests
 * walks.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>

#include "dimmap/load/lriot/epochs.h"
#include "dimmap/load/lriot/pattern.h"
#include "dimmap/load/lriot/stamp.h"

#include "base/test/tap.h"

static void test_stamps(void)
{
	uint64_t words[512];
	uint32_t epoch;
	unsigned writer, taken = 0;
	struct finding f;

	ok(stamp_read(4096, stamp_make(4096, 12, 345), &epoch, &writer) && epoch == 12 &&
		   writer == 345,
	   "stamp_read: reads what stamp_make() made");
	ok(stamp_read(8, stamp_make(8, UINT32_MAX, 65535), &epoch, &writer) &&
		   epoch == UINT32_MAX && writer == 65535,
	   "stamp_read: reads the largest epoch and writer");
	for (uint64_t page = 0; page < 10000; page++)
		taken += stamp_read(page * 4096, stamp_make(page * 4096 + 4096, 1, 0), &epoch,
				    &writer);
	ok(taken < 3,
	   "stamp_read: refuses a stamp of another place, except one in 65536: %u of 10000 are "
	   "accepted",
	   taken);
	ok(!stamp_read(0, 0, &epoch, &writer), "stamp_read: refuses the zeros of a hole");
	stamp_fill(words, 8192, sizeof(words), 5, 1);
	ok(!stamps_wrong(words, 8192, sizeof(words), 5, 5, &f) &&
		   !stamps_wrong(words, 8192, sizeof(words), 4, 6, &f),
	   "stamps_wrong: accepts a page of the expected epoch");
	ok(stamps_wrong(words, 8192, sizeof(words), 6, 6, &f) && f.offset == 8192,
	   "stamps_wrong: finds an error if a later epoch is expected");
	ok(stamps_wrong(words, 8192, sizeof(words), 3, 4, &f),
	   "stamps_wrong: finds an error if an earlier epoch is expected");
	words[511] = stamp_make(8192 + 511 * 8, 4, 1);
	ok(stamps_wrong(words, 8192, sizeof(words), 5, 5, &f) && f.offset == 8192 + 511 * 8 &&
		   f.low == 5,
	   "stamps_wrong: finds a last word of an earlier epoch");
	words[511] = words[0];
	ok(stamps_wrong(words, 8192, sizeof(words), 5, 5, &f),
	   "stamps_wrong: finds a word of another place");
	ok(!stamps_wrong(words, 8192, 511 * 8, 5, 5, &f),
	   "stamps_wrong: ignores a word after the end");
}

static void test_epochs(void)
{
	struct epochs e;

	epochs_make(&e, 3, NULL);
	is_int(epochs_low(&e, 1), 0, "epochs_low: a new block has at least epoch 0");
	is_int(epochs_high(&e, 1), 0, "epochs_high: a new block has at most epoch 0");
	is_int(epochs_begin(&e, 1), 1, "epochs_begin: the first write of a block has epoch 1");
	is_int(epochs_low(&e, 1), 0,
	       "epochs_low: during the first write a reader may find epoch 0");
	is_int(epochs_high(&e, 1), 1,
	       "epochs_high: during the first write a reader may find epoch 1");
	epochs_end(&e, 1);
	is_int(epochs_low(&e, 1), 1, "epochs_low: after the first write the epoch is at least 1");
	is_int(epochs_high(&e, 1), 1, "epochs_high: after the first write the epoch is at most 1");
	is_int(epochs_high(&e, 0) + epochs_high(&e, 2), 0,
	       "epochs: a write leaves the epochs of other blocks unchanged");
	epochs_set(&e, 2, EPOCH_MAX - 1);
	is_int(epochs_begin(&e, 2), EPOCH_MAX, "epochs_begin: the last epoch is EPOCH_MAX");
	epochs_drop(&e);
}

#define WRITES 20000

static struct epochs shared;
static _Atomic int inside;
static _Atomic unsigned together;

static void *write_often(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < WRITES; i++) {
		epochs_begin(&shared, 0);
		if (atomic_fetch_add(&inside, 1) != 0)
			atomic_fetch_add(&together, 1);
		if (i % 16 == 0)
			sched_yield(); /* let a thread run that waits for the block */
		atomic_fetch_sub(&inside, 1);
		epochs_end(&shared, 0);
	}
	return NULL;
}

static void test_writers(void)
{
	pthread_t id[4];

	epochs_make(&shared, 1, NULL);
	for (unsigned i = 0; i < 4; i++)
		pthread_create(&id[i], NULL, write_often, NULL);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(id[i], NULL);
	is_int(together, 0, "epochs_begin: two threads never write a block at the same time");
	is_int(epochs_low(&shared, 0), 4 * WRITES,
	       "epochs_begin: each write has an epoch of its own");
	epochs_drop(&shared);
}

static void test_words_of_findings(void)
{
	struct finding f = { 69632, stamp_make(69632, 2, 7), 3, 3 };
	static struct findings all;
	char text[FINDING_TEXT], want[FINDING_TEXT];

	snprintf(want, sizeof(want),
		 "page 17, byte 69632: expected epoch 3, found epoch 2 by thread 7 (0x%016" PRIx64
		 ")",
		 f.word);
	is(finding_text(text, &f), want, "finding_text: describes a lost write");
	f = (struct finding){ 69640, 0, 3, 4 };
	is(finding_text(text, &f),
	   "page 17, byte 69640: expected epoch 3 to 4, found no stamp of this place "
	   "(0x0000000000000000)",
	   "finding_text: describes a hole");
	for (uint64_t i = 0; i < 40; i++) {
		f.offset = i;
		findings_add(&all, &f);
	}
	is_int((long long)all.n, 40, "findings: all wrong words are counted");
	is_int((long long)all.first[FINDINGS_KEPT - 1].offset, FINDINGS_KEPT - 1,
	       "findings: the first wrong words are recorded");
}

/* Return whether N accesses of each of THREADS visit each of N blocks once. */
static bool all_once(const char *text, uint64_t blocks, unsigned threads)
{
	unsigned *seen = calloc(blocks, sizeof(*seen)), bad = 0;
	struct pattern p;
	struct walk w;
	struct random r;

	lriot_pattern_parse(&p, text, NULL);
	for (unsigned t = 0; t < threads; t++) {
		walk_start(&w, &p, blocks, 1, t, threads);
		random_start(&r, 1, t);
		for (uint64_t i = 0; i < blocks; i++)
			seen[walk_next(&w, &r)]++;
	}
	for (uint64_t b = 0; b < blocks; b++)
		bad += seen[b] != threads;
	free(seen);
	return !bad;
}

static void test_check_patterns(void)
{
	static const char *const bad[] = { "",	       "random",    "zipf",    "zipf:",
					   "zipf:0",   "zipf:11",   "zipf:1x", "stride",
					   "stride:0", "stride:-1", "seq:1",   "uniform:2" };
	static const uint64_t strided[] = { 0, 3, 6, 9, 1, 4, 7, 2, 5, 8, 0, 3 };
	struct pattern p, before;
	struct random r = { { 0 } };
	struct errbuf err;
	struct walk w;
	unsigned same = 0;

	lriot_pattern_parse(&p, "stride:3", NULL);
	walk_start(&w, &p, 10, 1, 0, 1);
	for (unsigned i = 0; i < 12; i++)
		same += walk_next(&w, &r) == strided[i];
	is_int(same, 12, "walk: stride:3 visits ten blocks in the expected order");
	lriot_pattern_parse(&p, "seq", NULL);
	walk_start(&w, &p, 10, 1, 1, 4);
	is_int((long long)walk_next(&w, &r), 2,
	       "walk: seq: the second of four threads begins at a quarter of the file");
	is_int((long long)walk_next(&w, &r), 3, "walk: seq: the block after the first one is next");
	walk_start(&w, &p, UINT64_C(1) << 50, 1, 255, 256);
	is_int((long long)walk_next(&w, &r), 255 * (1LL << 42),
	       "walk: seq: the last of 256 threads begins at its part of a file of 2^50 blocks");
	ok(all_once("seq", 10, 4) && all_once("stride:3", 10, 4) && all_once("stride:4", 12, 3) &&
		   all_once("stride:1000", 1000, 7) && all_once("stride:7", 1000, 1),
	   "walk: N accesses to N blocks visit each block once, from any start");
	before = p;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(lriot_pattern_parse(&p, bad[i], &err) < 0 &&
			   strstr(err.text, "expected uniform, zipf:A") && p.kind == before.kind,
		   "lriot_pattern_parse: refuses \"%s\"", bad[i]);
}

int main(void)
{
	test_stamps();
	test_epochs();
	test_writers();
	test_words_of_findings();
	test_check_patterns();
	return tap_done();
}
