/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads page traces. Their contents are not trusted. */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "dimmap/load/trace.h"
#include "dimmap/sim/accesses.h"

#define RECORDS 4096

struct head {
	uint64_t pages;
	uint32_t threads;
};

static uint32_t u32_at(const unsigned char *at)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return le32toh(n);
}

static uint64_t u64_at(const unsigned char *at)
{
	uint64_t n;

	memcpy(&n, at, sizeof(n));
	return le64toh(n);
}

/*
 * To be called after a short read of F. Returns 0 if the file has ended, or -1 with ERR on an
 * error.
 */
static int check_short_read(FILE *f, const char *name, struct errbuf *err)
{
	return ferror(f) ? errprintf(err, "%s: %s", name, strerror(errno)) : 0;
}

static int accesses_read_head(struct head *head, FILE *f, const char *name, struct errbuf *err)
{
	unsigned char raw[TRACE_HEAD];
	size_t got = fread(raw, 1, sizeof(raw), f);
	uint32_t merge;

	if (got < sizeof(raw) && check_short_read(f, name, err) < 0)
		return -1;
	if (got < 8 || memcmp(raw, TRACE_MAGIC, 8) != 0)
		return errprintf(err, "%s: not a page trace: it does not begin with %s", name,
				 TRACE_MAGIC);
	if (got < sizeof(raw))
		return errprintf(err, "%s: ends within its header, after %zu of %zu bytes", name,
				 got, sizeof(raw));
	if (u32_at(raw + 8) != TRACE_VERSION)
		return errprintf(err, "%s: a page trace of version %" PRIu32 ": expected %u", name,
				 u32_at(raw + 8), TRACE_VERSION);
	if (u32_at(raw + 12) != TRACE_PAGE)
		return errprintf(err, "%s: pages of %" PRIu32 " bytes: expected %u", name,
				 u32_at(raw + 12), TRACE_PAGE);
	*head = (struct head){ .pages = u64_at(raw + 16), .threads = u32_at(raw + 24) };
	merge = u32_at(raw + 28);
	if (head->pages > TRACE_PAGES_MAX)
		return errprintf(err,
				 "%s: the trace of a file of %" PRIu64 " pages (allowed: at most "
				 "2^40)",
				 name, head->pages);
	if (head->threads > TRACE_THREADS_MAX)
		return errprintf(err, "%s: %" PRIu32 " threads: %u at most", name, head->threads,
				 TRACE_THREADS_MAX);
	if (merge > 1)
		return errprintf(
			err,
			"%s: byte 28 must be 0 or 1 (repeats are left out), not %" PRIu32,
			name, merge);
	return 0;
}

static int add_record(struct accesses *a, const struct head *head, uint64_t record, uint64_t i,
		      const char *name, struct errbuf *err)
{
	uint64_t index = record & (TRACE_PAGES_MAX - 1);
	uint32_t thread = record >> 40 & (TRACE_THREADS_MAX - 1);

	if (record >> 56 & 0x7f)
		return errprintf(err,
				 "%s: record %" PRIu64 ": %016" PRIx64 ": bits 56 to 62 are not 0",
				 name, i, record);
	if (index >= head->pages)
		return errprintf(err,
				 "%s: record %" PRIu64 ": page %" PRIu64 " (allowed: below %" PRIu64
				 ")",
				 name, i, index, head->pages);
	if (thread >= head->threads)
		return errprintf(err,
				 "%s: record %" PRIu64 ": thread %" PRIu32
				 " (allowed: below %" PRIu32 ")",
				 name, i, thread, head->threads);
	if (accesses_add(a, index, record >> 63, err) < 0)
		return errwrap(err, "%s", name);
	return 0;
}

int accesses_parse(struct accesses *a, FILE *f, const char *name, struct errbuf *err)
{
	static unsigned char raw[RECORDS * 8];
	uint64_t record = 0;
	struct head head = { 0 };
	size_t got;

	if (accesses_read_head(&head, f, name, err) < 0)
		return -1;
	if (accesses_add_file(a, head.pages, err) < 0)
		return errwrap(err, "%s", name);
	do {
		got = fread(raw, 1, sizeof(raw), f);
		for (size_t at = 0; at + 8 <= got; at += 8, record++)
			if (add_record(a, &head, u64_at(raw + at), record, name, err) < 0)
				return -1;
	} while (got == sizeof(raw));
	if (check_short_read(f, name, err) < 0)
		return -1;
	if (got % 8)
		return errprintf(err, "%s: ends within record %" PRIu64 ", after %zu of 8 bytes",
				 name, record, got % 8);
	if (!record)
		return errprintf(err, "%s: no accesses", name);
	return 0;
}

int accesses_read(struct accesses *a, const char *path, struct errbuf *err)
{
	FILE *f = fopen(path, "re");
	int result;

	if (!f)
		return errprintf(err, "%s: %s", path, strerror(errno));
	result = accesses_parse(a, f, path, err);
	fclose(f);
	return result;
}
