/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/sim/accesses.h"

#include <endian.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/test/tap.h"
#include "dimmap/load/random.h"
#include "dimmap/load/trace.h"

static char path[256];

/* Test traces that the trace writer of the loads has written. */
static void test_accesses_round_trip(void)
{
	static const struct {
		uint64_t offset;
		size_t len;
		bool write;
	} touch[] = { { 8192, 1, false },
		      { 0, 4097, true },
		      { 8191, 2, false },
		      { (uint64_t)4096 * 99999, 4096, true } };
	static const uint64_t want[][2] = { { 2, 0 }, { 0, 1 }, { 1, 1 },
					    { 1, 0 }, { 2, 0 }, { 99999, 1 } };
	struct errbuf err = { 0 };
	struct accesses a = { 0 };
	unsigned bad = 0;

	for (unsigned file = 0; file < 2; file++) {
		struct trace *t = trace_create(path, 100000, 1, false, &err);

		for (unsigned i = 0; i < 4; i++)
			trace_touch(t, 0, touch[i].offset, touch[i].len, touch[i].write);
		trace_close(t, &err);
		is_int(accesses_read(&a, path, &err), 0, "accesses_read: reads a written trace: %s",
		       err.text);
	}
	ok(a.n == 12 && a.pages == 8 && a.writes == 6 && a.files == 2,
	   "accesses_read: two traces have twelve accesses to eight pages of two files");
	for (size_t i = 0; i < a.n; i++) {
		uint64_t key = a.key[access_page(&a, i)];

		bad += key != ((uint64_t)(i / 6) << 48 | want[i % 6][0]) ||
		       access_write(&a, i) != want[i % 6][1];
	}
	is_int(bad, 0, "accesses_read: the accesses equal those that were written");
	is_int((long long)a.file_pages[1], 100000, "accesses_read: gives the size of the file");
	accesses_free(&a);
}

static void test_accesses_many(void)
{
	struct accesses a = { 0 };
	uint64_t x = 0;
	unsigned bad = 0;

	accesses_add_file(&a, TRACE_PAGES_MAX, NULL);
	for (unsigned i = 0; i < 200000; i++)
		accesses_add(&a, random_split(&x) % 50000 * 20000000, i & 1, NULL);
	x = 0;
	for (unsigned i = 0; i < 200000; i++)
		bad += a.key[access_page(&a, i)] != random_split(&x) % 50000 * 20000000 ||
		       access_write(&a, i) != (i & 1);
	ok(!bad && a.n == 200000 && a.pages > 49000 && a.pages <= 50000,
	   "accesses_add: keeps 200,000 accesses to %u pages that are far apart", a.pages);
	accesses_free(&a);
}

/* ------------------------------------------------------------------ wrong traces */

struct raw {
	char magic[8];
	uint32_t version, page;
	uint64_t pages;
	uint32_t threads, merge;
	uint64_t record[4];
};

static struct raw good_raw(void)
{
	struct raw r = { .version = htole32(1),
			 .page = htole32(4096),
			 .pages = htole64(10),
			 .threads = htole32(2),
			 .merge = 0,
			 .record = { htole64(9), htole64(UINT64_C(1) << 40),
				     htole64(UINT64_C(1) << 63 | 3), htole64(3) } };

	memcpy(r.magic, TRACE_MAGIC, 8);
	return r;
}

static int parse(struct accesses *a, const void *data, size_t size, struct errbuf *err)
{
	FILE *f = size ? fmemopen((void *)data, size, "r") : fopen("/dev/null", "r");
	int result = accesses_parse(a, f, "t", err);

	fclose(f);
	return result;
}

static void refused(const struct raw *r, size_t size, const char *want)
{
	struct accesses a = { 0 };
	struct errbuf err = { 0 };
	int result = parse(&a, r, size, &err);

	ok(result == -1, "accesses_parse: refuses a trace: %s", want);
	is(err.text, want, "accesses_parse: the message is right: %s", want);
	accesses_free(&a);
}

static void test_accesses_troubles(void)
{
	struct accesses a = { 0 };
	struct errbuf err = { 0 };
	struct raw r = good_raw();

	ok(parse(&a, &r, sizeof(r), &err) == 0 && a.n == 4 && a.pages == 3,
	   "accesses_parse: reads a trace in memory");
	accesses_free(&a);
	refused(&r, 0, "t: not a page trace: it does not begin with NODEOSPT");
	refused(&r, 7, "t: not a page trace: it does not begin with NODEOSPT");
	refused(&r, 8, "t: ends within its header, after 8 of 32 bytes");
	refused(&r, 31, "t: ends within its header, after 31 of 32 bytes");
	refused(&r, 32, "t: no accesses");
	refused(&r, 33, "t: ends within record 0, after 1 of 8 bytes");
	refused(&r, sizeof(r) - 1, "t: ends within record 3, after 7 of 8 bytes");
	r.magic[7] = 'X';
	refused(&r, sizeof(r), "t: not a page trace: it does not begin with NODEOSPT");
	r = good_raw();
	r.version = htole32(2);
	refused(&r, sizeof(r), "t: a page trace of version 2: expected 1");
	r = good_raw();
	r.page = htole32(8192);
	refused(&r, sizeof(r), "t: pages of 8192 bytes: expected 4096");
	r = good_raw();
	r.pages = htole64(UINT64_MAX);
	refused(&r, sizeof(r),
		"t: the trace of a file of 18446744073709551615 pages (allowed: at most 2^40)");
	r = good_raw();
	r.threads = htole32(65537);
	refused(&r, sizeof(r), "t: 65537 threads: 65536 at most");
	r = good_raw();
	r.merge = htole32(2);
	refused(&r, sizeof(r), "t: byte 28 must be 0 or 1 (repeats are left out), not 2");
	r = good_raw();
	r.record[2] = htole64(10);
	refused(&r, sizeof(r), "t: record 2: page 10 (allowed: below 10)");
	r.record[2] = htole64((UINT64_C(1) << 40) - 1);
	refused(&r, sizeof(r), "t: record 2: page 1099511627775 (allowed: below 10)");
	r.record[2] = htole64(UINT64_C(2) << 40);
	refused(&r, sizeof(r), "t: record 2: thread 2 (allowed: below 2)");
	r.record[2] = htole64(UINT64_C(1) << 62);
	refused(&r, sizeof(r), "t: record 2: 4000000000000000: bits 56 to 62 are not 0");
	ok(accesses_read(&a, "/nonexistent/t", &err) < 0, "accesses_read: refuses a missing file");
	is(err.text, "/nonexistent/t: No such file or directory",
	   "accesses_read: the message says that the file is missing");
	ok(accesses_read(&a, "/", &err) < 0, "accesses_read: refuses a directory");
	is(err.text, "/: Is a directory",
	   "accesses_read: the message says that the file is a directory");
	accesses_free(&a);
}

/* Test that valid traces with changed bytes and lengths are read, or are refused with one line. */
static void test_at_random(void)
{
	unsigned read = 0, refused_ = 0, bad = 0;
	struct random random;

	random_start(&random, 1, 0);
	for (unsigned i = 0; i < 20000; i++) {
		struct accesses a = { 0 };
		struct errbuf err = { 0 };
		struct raw r = good_raw();
		unsigned char *byte = (unsigned char *)&r;
		size_t size = random_below(&random, 2) ? sizeof(r)
						       : random_below(&random, sizeof(r) + 1);

		/* change no byte of the magic, so that the other checks are reached */
		for (uint64_t n = random_below(&random, 4); n--;)
			byte[8 + random_below(&random, sizeof(r) - 8)] =
				(unsigned char)(random_below(&random, 3)
							? random_below(&random, 256)
							: 0xff);
		if (parse(&a, byte, size, &err) < 0) {
			refused_++;
			bad += !err.text[0] || strchr(err.text, '\n') ||
			       strncmp(err.text, "t: ", 3) != 0;
		} else {
			read++;
			bad += a.n != (size - 32) / 8 || a.pages > a.n || a.files != 1;
			for (size_t k = 0; k < a.n; k++)
				bad += access_page(&a, k) >= a.pages ||
				       a.key[access_page(&a, k)] >= a.file_pages[0];
		}
		accesses_free(&a);
	}
	ok(!bad && read > 1000 && refused_ > 1000,
	   "accesses_parse: traces with changed bytes are read, or refused with one line: %u read, "
	   "%u refused",
	   read, refused_);
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");
	int fd;

	snprintf(path, sizeof(path), "%.200s/accesses_test.XXXXXX", tmp ? tmp : "/tmp");
	fd = mkstemp(path);
	if (fd < 0)
		bail("%s cannot be made", path);
	close(fd);
	test_accesses_round_trip();
	test_accesses_many();
	test_accesses_troubles();
	test_at_random();
	unlink(path);
	return tap_done();
}
