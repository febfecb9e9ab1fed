/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs of lriot over accesses that lose writes, write half a block, or read another block: each
 * fault has to be found as often as it was made, and a run without faults finds nothing.
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

/* What the faulty accesses did. */
static struct {
	uint64_t reads, writes, faults;
	uint64_t last_good[BLOCKS], last_bad[BLOCKS]; /* number of the write */
} done;

static uint64_t every; /* so many accesses make one fault */

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

/* A checked run on a new file, or on the one that is there. */
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

static void nothing_wrong(void)
{
	for (int random = 0; random < 2; random++) {
		work((struct lriot){ .load = { .threads = 4, .random = random },
				     .ops = 2000,
				     .read_percent = 50 },
		     &lriot_plain, true);
		is_int((long long)out.found.n, 0, "nothing is wrong, and nothing is found");
		is_int((long long)(out.reads + out.writes), 8000,
		       "four threads make 8000 accesses");
		is_int((long long)out.checked, (long long)out.reads, "each read is checked");
		ok(out.blocks_before == BLOCKS && out.blocks_after == BLOCKS,
		   "each block is checked before and after");
		ok(out.reads > 3776 && out.reads < 4224,
		   "half of them read, within 5 deviations: %" PRIu64, out.reads);
	}
	work((struct lriot){ .load.threads = 3, .seconds = 1, .read_percent = 40 }, &lriot_plain,
	     false);
	ok(out.found.n == 0 && out.ran, "a later run takes the file as the first has left it");
	ok(out.time.seconds >= 1 && out.time.seconds < 10, "a second takes a second: %.3f",
	   out.time.seconds);
}

/* The blocks whose last write was faulty, in the order in which the check finds them. */
static void same_as_done(const char *what)
{
	uint64_t page[BLOCKS];
	unsigned n = 0, same = 0, kept;

	for (unsigned b = 0; b < BLOCKS; b++)
		if (done.last_bad[b] > done.last_good[b])
			page[n++] = b;
	is_int((long long)out.found.n, n, "%s: each block that ended so is found", what);
	ok(n > 3, "%s: some blocks did", what);
	kept = n < FINDINGS_KEPT ? n : FINDINGS_KEPT;
	for (unsigned i = 0; i < kept; i++)
		same += out.found.first[i].offset / PAGE == page[i];
	is_int(same, kept, "%s: they are found by their pages", what);
}

static void lost_writes(void)
{
	static const struct lriot_access lost = { .read = NULL, .write = write_lost };
	static const struct lriot_access torn = { .read = NULL, .write = write_torn };

	every = 7;
	work((struct lriot){ .load.threads = 1, .ops = 1000 }, &lost, true);
	is_int((long long)done.faults, 142, "142 of 1000 writes are lost");
	same_as_done("lost writes");
	ok(out.found.first[0].offset % PAGE == 0 &&
		   out.found.first[0].low == out.found.first[0].high,
	   "a lost write is wrong from its first word on");
	work((struct lriot){ .load.threads = 1, .ops = 1000 }, &torn, true);
	is_int((long long)done.faults, 142, "142 of 1000 writes are torn");
	same_as_done("torn writes");
	is_int((long long)(out.found.first[0].offset % PAGE), PAGE / 2,
	       "a torn write is wrong from the middle of its block on");
	work((struct lriot){ .load.threads = 1, .ops = 10 }, &lriot_plain, false);
	ok(out.found.n > 3 && !out.ran && out.writes == 0, "a run on a torn file does not begin");
}

static void wrong_reads(void)
{
	static const struct lriot_access elsewhere = { read_elsewhere, NULL };

	every = 10;
	work((struct lriot){ .load.threads = 1, .ops = 1000, .read_percent = 100 }, &elsewhere,
	     true);
	is_int((long long)done.faults, 100, "every tenth read is of another page");
	is_int((long long)out.found.n, 100, "each of them is found");
	is_int((long long)out.blocks_after, BLOCKS, "the file itself is right");
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
	nothing_wrong();
	lost_writes();
	wrong_reads();
	unlink(path);
	return tap_done();
}
