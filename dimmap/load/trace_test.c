/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/trace.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <unistd.h>

#include "base/test/tap.h"

static char path[256];

/* Read a little-endian number of BYTES bytes, as in the file that trace.h describes. */
static uint64_t number(const unsigned char *at, unsigned bytes)
{
	uint64_t n = 0;

	while (bytes--)
		n = n << 8 | at[bytes];
	return n;
}

static unsigned char *slurp(size_t *size)
{
	unsigned char *data = malloc(8 << 20);
	int fd = open(path, O_RDONLY);
	ssize_t n;

	for (*size = 0; fd >= 0 && (n = read(fd, data + *size, (8 << 20) - *size)) > 0;)
		*size += (size_t)n;
	close(fd);
	return data;
}

static void test_format(void)
{
	static const struct {
		unsigned thread;
		uint64_t offset;
		size_t len;
		bool write;
	} touch[] = {
		{ 0, 0, 1, false },	  { 1, 4095, 1, true },	  { 1, 4095, 2, true },
		{ 0, 4096, 8192, false }, { 0, 12287, 1, false }, { 2, UINT64_C(1) << 51, 8, true },
	};
	/*
	 * expected records: page, thread, write. The records of each thread are together, since
	 * they are fewer than a group
	 */
	static const uint64_t all[][3] = { { 0, 0, 0 }, { 1, 0, 0 },
					   { 2, 0, 0 }, { 2, 0, 0 },
					   { 0, 1, 1 }, { 0, 1, 1 },
					   { 1, 1, 1 }, { UINT64_C(1) << 39, 2, 1 } };
	static const uint64_t merged[][3] = {
		{ 0, 0, 0 }, { 1, 0, 0 }, { 2, 0, 0 },
		{ 0, 1, 1 }, { 1, 1, 1 }, { UINT64_C(1) << 39, 2, 1 }
	};

	for (unsigned merge = 0; merge < 2; merge++) {
		struct trace *t = trace_create(path, 77, 3, merge, NULL);
		const uint64_t(*want)[3] = merge ? merged : all;
		size_t records = merge ? 6 : 8, size;
		unsigned char *data;
		unsigned bad = 0;

		for (size_t i = 0; i < sizeof(touch) / sizeof(touch[0]); i++)
			trace_touch(t, touch[i].thread, touch[i].offset, touch[i].len,
				    touch[i].write);
		is_int(trace_close(t, NULL), 0, "trace_close: writes a trace");
		data = slurp(&size);
		is_int((long long)size, (long long)(32 + 8 * records),
		       "trace: the file has a header and %zu records", records);
		ok(memcmp(data, "NODEOSPT", 8) == 0 && number(data + 8, 4) == 1 &&
			   number(data + 12, 4) == 4096 && number(data + 16, 8) == 77 &&
			   number(data + 24, 4) == 3 && number(data + 28, 4) == merge,
		   "trace: the header has version, pages, threads and merge");
		for (size_t i = 0; i < records && 32 + 8 * records == size; i++) {
			uint64_t r = number(data + 32 + 8 * i, 8),
				 got[] = { r & 0xffffffffff, r >> 40 & 0xffff, r >> 63 };

			bad += memcmp(got, want[i], sizeof(got)) != 0;
		}
		is_int(bad, 0,
		       merge ? "trace: a merged trace leaves out each thread's repeats"
			     : "trace: a full trace has all accesses");
		free(data);
	}
}

#define THREADS 4
#define EACH 100000

static void *touch_many(void *arg)
{
	struct {
		struct trace *trace;
		unsigned thread;
	} *mine = arg;

	for (uint64_t i = 0; i < EACH; i++)
		trace_touch(mine->trace, mine->thread, (i * 7 + mine->thread) * 4096, 8,
			    i % 3 == 0);
	return NULL;
}

static void test_trace_threads(void)
{
	struct {
		struct trace *trace;
		unsigned thread;
	} mine[THREADS];
	struct trace *t = trace_create(path, 1 << 20, THREADS, false, NULL);
	uint64_t next[THREADS] = { 0 };
	pthread_t id[THREADS];
	unsigned bad = 0;
	unsigned char *data;
	size_t size;

	for (unsigned i = 0; i < THREADS; i++) {
		mine[i].trace = t;
		mine[i].thread = i;
		pthread_create(&id[i], NULL, touch_many, &mine[i]);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
	is_int(trace_close(t, NULL), 0, "trace_close: writes a trace of several threads");
	data = slurp(&size);
	is_int((long long)size, 32 + 8 * THREADS * EACH,
	       "trace: several threads: the file has all records of each thread");
	for (size_t at = 32; at < size; at += 8) {
		uint64_t r = number(data + at, 8), thread = r >> 40 & 0xffff, i;

		if (thread >= THREADS) {
			bad++;
			continue;
		}
		i = next[thread]++;
		bad += (r & 0xffffffffff) != i * 7 + thread || r >> 63 != (i % 3 == 0);
	}
	is_int(bad, 0, "trace: several threads: the records of each thread are in order");
	free(data);
}

static void test_trace_troubles(void)
{
	struct errbuf err = { 0 };
	struct trace *t;

	ok(!trace_create("/nonexistent/t", 1, 1, false, &err),
	   "trace_create: refuses a missing directory");
	is(err.text, "/nonexistent/t: No such file or directory",
	   "trace_create: the error names the missing path");
	ok(!trace_create(path, TRACE_PAGES_MAX + 1, 1, false, &err),
	   "trace_create: refuses a file with too many pages");
	t = access("/dev/full", W_OK) == 0 ? trace_create("/dev/full", 1, 1, false, &err) : NULL;
	if (access("/dev/full", W_OK) != 0) {
		skip(1, "this system has no /dev/full");
		return;
	}
	is(err.text, "/dev/full: No space left on device",
	   "trace_create: the error reports a full disk");
	trace_close(t, NULL);
	is_int(trace_close(NULL, &err), 0, "trace_close: accepts NULL");
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");
	int fd;

	snprintf(path, sizeof(path), "%.200s/trace_test.XXXXXX", tmp ? tmp : "/tmp");
	fd = mkstemp(path);
	if (fd < 0)
		bail("%s cannot be made", path);
	close(fd);
	test_format();
	test_trace_threads();
	test_trace_troubles();
	unlink(path);
	return tap_done();
}
