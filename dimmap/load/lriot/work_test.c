/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs lriot with functions that lose writes, write half a block, or read another block. The check
 * must find each such fault, and none in a run without faults.
 */
#include <inttypes.h>
#include <unistd.h>

#include "base/test/tap.h"
#include "dimmap/load/lriot/lriot.h"

#define BLOCKS 256
#define PAGE 4096

static char path[256];
static struct lriot_result out;
static struct errbuf err;

/* A record of the faulty accesses. */
static struct {
	uint64_t reads, writes, faults;
	uint64_t last_good[BLOCKS], last_bad[BLOCKS]; /* numbers of writes */
} done;

static uint64_t every; /* one in EVERY accesses is faulty */

static bool is_faulty(uint64_t offset)
{
	bool bad = ++done.writes % every == 0;

	(bad ? done.last_bad : done.last_good)[offset / PAGE] = done.writes;
	done.faults += bad;
	return bad;
}

static void write_lost(struct mapped *m, const uint64_t *from, uint64_t offset, size_t bytes)
{
	if (!is_faulty(offset))
		lriot_plain.write(m, from, offset, bytes);
}

static void write_torn(struct mapped *m, const uint64_t *from, uint64_t offset, size_t bytes)
{
	lriot_plain.write(m, from, offset, is_faulty(offset) ? bytes / 2 : bytes);
}

static void read_elsewhere(const struct mapped *m, uint64_t *to, uint64_t offset, size_t bytes)
{
	bool wrong = ++done.reads % every == 0;

	done.faults += wrong;
	lriot_plain.read(m, to, wrong ? (offset + PAGE) % m->size : offset, bytes);
}

/* Run with a check, on a new file if FILL, otherwise on the existing file. */
static void work(struct lriot o, const struct lriot_access *access, bool fill)
{
	memset(&done, 0, sizeof(done));
	o.load.file = path;
	o.load.seed = 1;
	o.load.check = true;
	o.size = BLOCKS * PAGE;
	o.access = access;
	if ((fill && lriot_fill(&o, &err) < 0) || lriot_work(&o, &out, &err) < 0)
		bail("%s", err.text);
}

static void test_nothing_wrong(void)
{
	for (int random = 0; random < 2; random++) {
		work((struct lriot){ .load = { .threads = 4, .random = random },
				     .ops = 2000,
				     .read_percent = 50 },
		     &lriot_plain, true);
		is_int((long long)out.found.n, 0, "lriot: a run without faults finds no error");
		is_int((long long)(out.reads + out.writes), 8000,
		       "lriot: four threads make 8000 accesses");
		is_int((long long)out.checked, (long long)out.reads, "lriot: each read is checked");
		ok(out.blocks_before == BLOCKS && out.blocks_after == BLOCKS,
		   "lriot: each block is checked before and after the run");
		ok(out.reads > 3776 && out.reads < 4224,
		   "lriot: read_percent 50: half of the accesses read, within 5 deviations: "
		   "%" PRIu64,
		   out.reads);
	}
	work((struct lriot){ .load.threads = 3, .seconds = 1, .read_percent = 40 }, &lriot_plain,
	     false);
	ok(out.found.n == 0 && out.ran, "lriot: a run accepts the file of an earlier run");
	ok(out.time.seconds >= 1 && out.time.seconds < 10,
	   "lriot: a run of one second takes one second: %.3f", out.time.seconds);
}

/* Check that lriot finds exactly the blocks whose last write was faulty, in order. */
static void same_as_done(const char *what)
{
	uint64_t page[BLOCKS];
	unsigned n = 0, same = 0, kept;

	for (unsigned b = 0; b < BLOCKS; b++)
		if (done.last_bad[b] > done.last_good[b])
			page[n++] = b;
	is_int((long long)out.found.n, n,
	       "lriot: %s: each block whose last write was faulty is found", what);
	ok(n > 3, "lriot: %s: the test has blocks whose last write was faulty", what);
	kept = n < FINDINGS_KEPT ? n : FINDINGS_KEPT;
	for (unsigned i = 0; i < kept; i++)
		same += out.found.first[i].offset / PAGE == page[i];
	is_int(same, kept, "lriot: %s: the errors name the pages of these blocks", what);
}

static void test_lost_writes(void)
{
	static const struct lriot_access lost = { .read = NULL, .write = write_lost };
	static const struct lriot_access torn = { .read = NULL, .write = write_torn };

	every = 7;
	work((struct lriot){ .load.threads = 1, .ops = 1000 }, &lost, true);
	is_int((long long)done.faults, 142, "lriot: one in 7 of 1000 writes is lost");
	same_as_done("lost writes");
	ok(out.found.first[0].offset % PAGE == 0 &&
		   out.found.first[0].low == out.found.first[0].high,
	   "lriot: a lost write is found at its first word");
	work((struct lriot){ .load.threads = 1, .ops = 1000 }, &torn, true);
	is_int((long long)done.faults, 142, "lriot: one in 7 of 1000 writes is torn");
	same_as_done("torn writes");
	is_int((long long)(out.found.first[0].offset % PAGE), PAGE / 2,
	       "lriot: a torn write is found in the middle of its block");
	work((struct lriot){ .load.threads = 1, .ops = 10 }, &lriot_plain, false);
	ok(out.found.n > 3 && !out.ran && out.writes == 0,
	   "lriot: a run on a torn file is refused");
}

static void test_wrong_reads(void)
{
	static const struct lriot_access elsewhere = { read_elsewhere, NULL };

	every = 10;
	work((struct lriot){ .load.threads = 1, .ops = 1000, .read_percent = 100 }, &elsewhere,
	     true);
	is_int((long long)done.faults, 100, "lriot: every tenth read is of another page");
	is_int((long long)out.found.n, 100, "lriot: each read of another page is found");
	is_int((long long)out.blocks_after, BLOCKS,
	       "lriot: the check after reads of another page finds no error in the file");
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");
	int fd;

	snprintf(path, sizeof(path), "%.200s/work_test.XXXXXX", tmp ? tmp : "/tmp");
	fd = mkstemp(path);
	if (fd < 0)
		bail("%s cannot be made", path);
	close(fd);
	test_nothing_wrong();
	test_lost_writes();
	test_wrong_reads();
	unlink(path);
	return tap_done();
}
